/** Mistakes that newcomers make, and what the command line does about each. */
import { chmodSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createIssuer } from "../../support/issuer.ts";
import { fileOf, mistakesOf, outputOf, useFolder } from "./support.ts";

useFolder();

const issuer = createIssuer();
const keyed = { service_id: "agents-prod", verification_keys: [issuer.publicPem] };
const roles = fileOf({ nobody: "anonymous", reader: ["agents:read"], writer: ["agents:write"] });
const tableOf = (scope_mappings: object) => fileOf({ default_scope_mappings: {}, scope_mappings });

describe("scopegate matrix", () => {
  it("shows with --shadow what the shadow table decides", async () => {
    const config = fileOf({
      default_scope_mappings: {},
      scope_mappings: { "GET /a": [], "GET /b": "public" },
      shadow: { scope_mappings: { "GET /a": ["agents:read"], "GET /b": ["agents:read"] } },
    });
    const args = ["matrix", "--roles", roles, "--config"];
    expect(await outputOf([...args, config, "--shadow"])).toBe(`| route  | role   | result             |
| ------ | ------ | ------------------ |
| GET /a | nobody | credential_missing |
| GET /a | reader | allowed            |
| GET /a | writer | scope_insufficient |
| GET /b | nobody | undecided          |
| GET /b | reader | undecided          |
| GET /b | writer | undecided          |
`);
    expect(await outputOf([...args, config])).not.toContain("scope_insufficient");
    expect(await mistakesOf([...args, tableOf({ "GET /a": [] }), "--shadow"])).toContain(
      "--shadow needs the option shadow.",
    );
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

  it("prints what the shadow table decides for a token, without its claims", async () => {
    const config = fileOf({
      ...keyed,
      scope_mappings: { "GET /agents": [] },
      shadow: { scope_mappings: { "GET /agents": ["agents:write"] } },
    });
    const token = await issuer.token({ aud: "agents-prod", scopes: ["agents:read"], secret: "canary-value" });
    const out = await outputOf([...args, config], 0, { input: token });
    expect(JSON.parse(out)).toMatchObject({ allowed: true, shadow: { reason: "scope_insufficient" } });
    expect(out).not.toContain("canary-value");
  });
});

describe("scopegate lint", () => {
  const lint = (json: object, code = 0) => outputOf(["lint", "--config", fileOf(json)], code);

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

  it("writes paths and fixes of every mistake with the names of a file", async () => {
    const wrong = { "get /x": [], "GET /y": ["a b"], "GET /z/:id": ["a:<x>:b"] };
    const all = await lint({ ...keyed, service_id: undefined, scope_mappings: wrong }, 1);
    expect(all.match(/^error scope_mappings/gm)).toHaveLength(3);
    expect(all).toContain("methods are case-sensitive");
    expect(all).toContain("is missing, but `verify_audience` needs it");
    expect(all).not.toContain("verifyAudience");
    const out = await lint(
      {
        service_id: "a",
        scope_mappings: {
          "GET /a/:id": { any_of: ["a:b", "c d"] },
          "GET /b": { scopes: [], max_auth_age_seconds: "5", acr: { any_of: [5] } },
          "GET /c": { scopes: [], sender_constrained: true },
          "GET /d/:maxAuthAgeSeconds": { scopes: ["x y"], where: { maxAuthAgeSeconds: {} } },
        },
      },
      1,
    );
    for (const line of [
      'error scope_mappings["GET /a/:id"].any_of[1]: ',
      'error scope_mappings["GET /b"].max_auth_age_seconds: ',
      "are enough: { any_of: [",
      'Write sender_constraint: { dpop: { origins: ["https://api.example"] } }, or remove',
      'error scope_mappings["GET /d/:maxAuthAgeSeconds"].where.maxAuthAgeSeconds: ',
    ])
      expect(out).toContain(line);
    expect(await lint({ scope_mappings: { "GET /a": { report: [] } } }, 1)).toContain(
      "as a second table: shadow: { scope_mappings }.",
    );
    expect(await lint({ scope_mappings: { "GET /a": { max_auth_age_seconds: 5 } } }, 1)).toContain(
      'can\'t be `{"max_auth_age_seconds":5}`. Write { scopes: [], max_auth_age_seconds }',
    );
    expect(await lint({ resource: "x", token_cache: { max_entries: 0 } }, 1)).toMatch(
      /token_cache\.max_entries: [^]*\{ id, authorization_servers \}/,
    );
  });
});

describe("files", () => {
  it("names the file of a wrong configuration and of a wrong key", async () => {
    const config = fileOf({ admin_scope: 1 }, "c.json");
    expect(await mistakesOf(`routes --config ${config}`)).toMatch(/c\.json`: admin/);
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
