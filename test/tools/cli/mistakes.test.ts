/** Mistakes that newcomers make, and what the command line does about each. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createIssuer } from "../../support/issuer.ts";
import { fileOf, folder, mistakesOf, outputOf, useFolder } from "./support.ts";

useFolder();

const issuer = createIssuer();
const keyed = { service_id: "agents-prod", verification_keys: [issuer.publicPem] };
const roles = fileOf({ nobody: "anonymous", reader: ["agents:read"], writer: ["agents:write"] });
const tableOf = (scope_mappings: object) => fileOf({ default_scope_mappings: {}, scope_mappings });

describe("scopegate matrix", () => {
  it("shows a report-only decision, so that --check notices its removal", async () => {
    const reporting = tableOf({ "GET /a": { report: ["agents:read"] } });
    const snapshot = join(folder, "reported.md");
    const args = ["matrix", "--roles", roles, "--check", snapshot, "--config"];
    const out = await outputOf([...args, reporting, "--write"]);
    expect(out).toMatch(/^\| GET \/a +\| writer +\| reported scope_insufficient \|$/m);
    expect(out).toMatch(/^\| GET \/a +\| reader +\| allowed +\|$/m);
    const removed = await outputOf([...args, tableOf({ "GET /a": [] })], 1);
    expect(removed).toContain("- GET /a | writer | reported scope_insufficient");
  });
});

describe("scopegate explain", () => {
  const args = ["explain", "GET", "/agents", "--token", "-", "--json", "--config"];

  it("prints as JSON what the text shows of a rejected token, and no other value of it", async () => {
    const token = await issuer.token({ aud: "other-service", iss: "canary-iss", scopes: [] });
    const out = await outputOf([...args, fileOf(keyed)], 1, { input: token });
    expect(out).not.toContain("canary");
    const data = JSON.parse(out) as Readonly<Record<string, unknown>>;
    expect(data).toMatchObject({ rejection: "audience", status: 401 });
    expect(data["because"]).toEqual(["expected aud: agents-prod"]);
    expect(data["found"]).toBe('aud: "other-service"');
    expect(data["claims"]).toEqual(expect.arrayContaining(["aud", "iss"]));
    for (const name of ["claimed", "principal"]) expect(data).not.toHaveProperty(name);
  });

  it("prints no claims of a token whose refusal is only reported", async () => {
    const config = fileOf({ ...keyed, scope_mappings: { "GET /agents": { report: ["agents:write"] } } });
    const token = await issuer.token({ aud: "agents-prod", scopes: ["agents:read"], secret: "canary-value" });
    const out = await outputOf([...args, config], 0, { input: token });
    expect(JSON.parse(out)).toMatchObject({ allowed: true, reported: { reason: "scope_insufficient" } });
    expect(out).not.toContain("canary-value");
  });
});

describe("scopegate lint", () => {
  const lint = (json: object, code = 0) => outputOf(["lint", "--config", fileOf(json)], code);

  it("warns of rules and of a server that only report", async () => {
    expect(await lint({ "GET /a": { report: ["a:b"] } })).toContain("warning report-only rules: 1");
    expect(await lint({ ...keyed, enforcement: "report" })).toContain("the resource server only reports");
  });

  it("warns of tokens and of public rules in a file without usable keys", async () => {
    const open = { service_id: "a", scope_mappings: { "GET /{*path}": "public" } };
    for (const more of [{}, { keys: { jwks_file: "absent.json" } }]) {
      const out = await lint({ ...open, ...more });
      expect(out).toContain('`required_claims: ["exp"]`');
      expect(out).toContain("GET /{*path}");
    }
    expect(await lint({ "GET /a": ["a:b"] })).toBe("The configuration has no mistakes.\n");
  });

  it("warns of tokens in a configuration of rules only, as openapi import writes it", async () => {
    const imported = { default_scope_mappings: {}, scope_mappings: { "GET /a": ["a:b"] } };
    expect(await lint(imported)).toContain("warning a token without `exp` never expires");
  });

  it("keeps a route key as it is written, and shows where it belongs", async () => {
    const out = await lint({ "GET /a": ["a:b"], service_id: "s" }, 1);
    expect(out).toContain("error GET /a: received unknown option `GET /a`.");
    expect(out).toContain("belongs in `scope_mappings`");
  });
});

describe("files", () => {
  it("names the file of a wrong configuration and of a wrong key", async () => {
    const config = fileOf({ admin_scope: 1 }, "c.json");
    expect(await mistakesOf(`routes --config ${config}`)).toMatch(/c\.json`: admin/);
    const table = fileOf({ a: 1 }, "t.json");
    expect(await mistakesOf(`replay ${fileOf("{}", "log")} --table ${table}`)).toMatch(/t\.json`: a/);
    const key = fileOf("not a key", "key.pem");
    chmodSync(key, 0o600);
    expect(await mistakesOf(`token --key ${key}`)).toMatch(/key\.pem`: .*isn't a private key/);
  });

  it("names the role and the file of every wrong role", async () => {
    const file = fileOf({ one: "agents:read", two: ["a:read,b:read"], three: ["a:"] }, "roles.json");
    for (const command of ["matrix", "page"]) {
      const notes = await mistakesOf(`${command} --roles ${file}`);
      expect(notes).toMatch(/roles\.json`: role "one" must be an array of scopes/);
      expect(notes).toMatch(/roles\.json`: role "two" has a comma/);
      expect(notes).toMatch(/roles\.json`: role "three" has a scope that grants nothing/);
    }
  });

  it("rejects several scopes in one --scope", async () => {
    for (const command of ["explain GET /agents", "token"])
      for (const scopes of ["orders:read,reports:read", "orders:read reports:read"])
        expect(await mistakesOf([...command.split(" "), "--scope", scopes])).toContain(
          "repeat it, --scope orders:read --scope reports:read",
        );
  });

  it("names every missing argument in one sentence", async () => {
    expect(await mistakesOf("explain")).toContain("METHOD and PATH are missing: write");
    expect(await mistakesOf("explain GET")).toContain("PATH is missing: write");
  });

  it("reads a byte order mark, and shows where JSON is wrong without its text", async () => {
    await outputOf(["routes", "--config", fileOf('\uFEFF{"GET /a":["a:b"]}')]);
    const notes = await mistakesOf([
      "lint",
      "--config",
      fileOf('{\n  "verification_keys": ["canary"]\n  "x": 1\n}'),
    ]);
    // Node.js 20 has no position.
    expect(notes).toMatch(/isn't valid JSON( \(line 3 column 3\))?:/);
    expect(notes).not.toContain("canary");
    expect(await mistakesOf(["lint", "--config", fileOf(" \n")])).toContain("is empty");
  });
});

describe("scopegate replay", () => {
  const replay = (log: string, ...more: readonly string[]) => [
    "replay",
    fileOf(log, "log"),
    "--table",
    fileOf({}),
    ...more,
  ];
  const line = JSON.stringify({
    ...{ id: "1", method: "GET", pattern: "/agents", result: "refused", reason: "credential_missing" },
    ...{ matched: true, rules: ["GET /agents"] },
  });

  it("rejects a file without a decision, and finds broken lines", async () => {
    for (const log of ["", "hello\n", "[]\n"])
      expect(await mistakesOf(replay(log))).toContain("contains no decision");
    await outputOf(replay(`${line}\n`));
    await outputOf(replay(`${line}\n{"id":\n`), 1);
  });

  it("finds decisions that cannot be made again, unless --partial accepts them", async () => {
    const undecidable = line.replace('"matched"', '"routeScopes":true,"matched"');
    const both = `${line}\n${undecidable}\n`;
    expect(await outputOf(replay(both), 1)).toContain("0 changed, 1 undecidable");
    await outputOf(replay(both, "--partial"));
    // Nothing was compared.
    await outputOf(replay(`${undecidable}\n`, "--partial"), 1);
    await outputOf(replay(`${both}{"id":\n`, "--partial"), 1);
  });
});
