/** Wrong usage: each line ends with exit code 2, without an output, and with the fix of every mistake. */
import { chmodSync, existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentScopeMappings } from "scopegate/complete";
import { createIssuer } from "../../support/issuer.ts";
import { appOf, fileOf, folder, mistakesOf, outputOf, scopegate, useFolder } from "./support.ts";

useFolder();

const issuer = createIssuer();
const agents = fileOf(agentScopeMappings);
const keyless = fileOf({ service_id: "agents-prod" });
const absentKeys = fileOf({ service_id: "a", keys: { jwks_file: "/nowhere/keys.json" } });
const operations = fileOf({ "MCP tools/list": ["tools:list"] });
const table = fileOf({ "GET /a": ["a:b"] });
const roles = fileOf({ nobody: "anonymous" });
const roleMistakes = fileOf({ one: "agents:read", two: ["a:read,b:read"], three: ["a:"] }, "roles.json");
const claimMistakes = fileOf({ a: { scopes: [], claim: {} }, b: { scopes: [], claims: [] } });
const json = fileOf('{\n  "verification_keys": ["canary"]\n  "x": 1\n}');
const api = fileOf(JSON.stringify({ openapi: "3.1.0", paths: { "/a": { get: {} } } }), "api.json");
const wrongKey = fileOf("not a key", "key.pem");
const expressApp = appOf("express.ts");
const moduleOf = (code: string) => fileOf(code, "app.mjs");

const key = () => join(folder, `key-${Math.random()}.pem`);
const REPEAT = "repeat it, --scope orders:read --scope reports:read";
const NO_TABLE = "No table is given: add --config FILE";
const ONE_TARGET = "takes one of";
const KEY_WORDS = "key takes create, list, or revoke with the id of a key";

describe("the command line refuses a line", () => {
  it.each<[mistake: string, line: string | readonly string[], ...others: string[]]>([
    ["Unknown command `routs`. Did you mean `routes`?", "routs"],
    ["--config needs a value: write --config FILE.", "routes --config="],
    ["--config is written twice: write it once.", "routes --config a.json --config b.json"],
    ["`extra` is one argument too many: write scopegate routes", `routes --config ${agents} extra`],
    ["`no.json` can't be read.", "routes --config no.json"],
    ["isn't valid JSON", `routes --config ${fileOf("{,}")}`],
    ["must contain a JSON object", `routes --config ${fileOf("[]")}`],
    ["one name twice", `routes --config ${fileOf('{"GET /x":["a:b"],"GET /x":"public"}')}`],
    ["Did you mean `scope_mappings`?", `routes --config ${fileOf({ scop_mappings: {}, x: 1 })}`, "`x`"],
    ["c.json`: admin", `routes --config ${fileOf({ admin_scope: 1 }, "c.json")}`],
    [NO_TABLE, "routes"],
    [NO_TABLE, "page"],
    [NO_TABLE, "explain GET /agents"],
    [NO_TABLE, "openapi check api.yaml"],
    ["add --config FILE", "lint"],
    ["one argument too many", `lint ${table}`, "add --config FILE"],
    ["absent.json", `lint --app ${appOf("router.ts")} --config absent.json`],
    ["is empty", `lint --config ${fileOf(" \n")}`],
    ["`token` has no option `--scop`. Did you mean `--scope`?", "token --scop a:b"],
    ["--expires takes a number and a unit: 30s, 15m, 1h or 7d.", "token --expires 5y"],
    ["--expires takes a number and a unit: 30s, 15m, 1h or 7d.", "token --expires -1h"],
    ["--expires takes a number and a unit: 30s, 15m, 1h or 7d.", "token --expires=-1h"],
    ["--claim takes a name and a value: write --claim name=value.", "token --claim x"],
    ["--jwks takes no value: write --jwks.", "token --jwks=1"],
    ["--aud needs a value. If the value begins with -, write --aud=NAME.", "token --aud --sub a"],
    [REPEAT, "token --scope orders:read,reports:read"],
    [REPEAT, "token --scope 'orders:read reports:read'"],
    ["--request needs --dpop.", "token --request 'GET http://localhost/'"],
    ["upper case", "token --dpop --request 'get http://localhost/'"],
    ["without spaces and quotes", ["token", "--dpop", "--request", "GET http://localhost/'"]],
    ["--dpop writes the claim cnf", `token --dpop --claim cnf={"jkt":"x"}`],
    ["can't be combined", "token --dpop --public-key"],
    ["`cloudflare-access`", "token --like cloudflare-acess"],
    ["--auth-age", "token --auth-age soon"],
    ["token creates no secrets for HS256", `token --config ${fileOf({ algorithm: "HS256" })}`],
    ["PATH is missing: write scopegate explain METHOD PATH.\n", "explain GET"],
    ["METHOD and PATH are missing: write", "explain"],
    [REPEAT, "explain GET /agents --scope orders:read,reports:read"],
    [REPEAT, "explain GET /agents --scope 'orders:read reports:read'"],
    ["--scope", `explain GET /agents --config ${agents} --claim a=b`],
    ["--tenant needs --scope", `explain GET /agents --config ${agents} --tenant a`],
    ["can't be read", `explain GET /agents --config ${absentKeys} --token -`],
    ["verification_keys: is missing.", `explain GET /agents --config ${keyless} --token -`],
    ["write --route '/agents/:id'.", `explain GET /a --config ${agents} --route 'GET /a'`],
    ["write --route '/agents/:id'.", `explain GET /a --config ${agents} --route a/:id`],
    ["write --route '/agents/:id'.", `explain GET /a --config ${agents} --route '/a/:id('`],
    ["--route can't be combined with MCP", "explain MCP tools/list --route /mcp"],
    ["tools/call", `explain MCP 'tools/cal x' --config ${operations} --scope a:b`],
    ["Write scopegate explain POST /mcp.", `explain MCP initialize --config ${operations}`],
    ["Write scopegate explain POST /mcp.", `explain MCP ping --config ${operations}`],
    ["Write scopegate explain POST /mcp.", `explain MCP notifications/initialized --config ${operations}`],
    ["write --app ./app.js, and export `app` or `routes` from this file.", "audit"],
    ["needs the routes", `audit --app ${appOf("server.ts")}`],
    ["node --import tsx", "audit --app absent.ts"],
    ["exports neither", `audit --app ${moduleOf("export const x = 1;")}`],
    ["exports no resource server", `audit --app ${moduleOf("export const routes = [];")}`],
    ["can't be loaded", `audit --app ${moduleOf("nonsense(")}`],
    ["can't be loaded", `audit --app ${moduleOf("throw null")}`],
    ["takes the key of a rule", `audit --app ${expressApp} --public-catch-all 'GET /'`],
    ["matrix needs roles", "matrix"],
    ["an array of scopes", `matrix --roles ${fileOf({ x: [1] })}`],
    ["has no role", `matrix --roles ${fileOf({})} --config ${table}`],
    [
      'roles.json`: role "one" must be an array of scopes',
      `matrix --roles ${roleMistakes}`,
      "comma",
      "grants",
    ],
    ['roles.json`: role "one" must be an array of scopes', `page --roles ${roleMistakes}`, "comma", "grants"],
    ['role "a" must be an array', `matrix --roles ${claimMistakes}`, 'role "b" must be an array'],
    ["--write needs --check", `matrix --roles ${roles} --config ${table} --write`],
    ["add --write to create it", `matrix --roles ${roles} --config ${table} --check absent.md`],
    ["can't be written", `matrix --roles ${roles} --config ${table} --check no/x.md --write`],
    ["--shadow needs the option shadow.", `matrix --roles ${roles} --config ${keyless} --shadow`],
    ["openapi takes write, check or import", `openapi wrte ${api}`],
    ["OpenAPI", `openapi check ${fileOf("{}")} --config ${table}`],
    ["has no `security`", `openapi import ${api} --missing-security error`],
    ['Write one of "authenticated"', `openapi import ${api} --missing-security none`],
    ["write --app ./server.js, and export `server` from this file.", "revoke --user u1"],
    ["inMemoryRevocation()", `revoke --app ${appOf("server.ts")} --user u1`],
    ["write revocation: sharedRevocation(", `revoke --app ${appOf("in-memory.ts")} --user u1`],
    ["write revocation: sharedRevocation(", `revoke --app ${appOf("in-memory.ts")} --user u1 --undo`],
    [ONE_TARGET, "revoke --app x --user u1 --session s1"],
    [ONE_TARGET, "revoke --app x"],
    ["--before takes a time such as", "revoke --app x --user u1 --before yesterday"],
    ["--before takes a time such as", "revoke --app x --user u1 --before 2030-13-45"],
    ["--until takes a time such as", "revoke --app x --user u1 --until 1/2/2030"],
    ["create|list|revoke is missing", "key"],
    [KEY_WORDS, "key destroy"],
    [KEY_WORDS, "key revoke"],
    [KEY_WORDS, "key list ID"],
  ])("with what to write: %s", async (mistake, line, ...others) => {
    const notes = await mistakesOf(line);
    for (const each of [mistake, ...others]) expect(notes).toContain(each);
  });

  it("with every mistake in the arguments", async () => {
    const notes = await mistakesOf("token --scope= --expires 5y --claim x");
    expect(notes.match(/^scopegate: /gm)).toHaveLength(3);
  });
});

describe("the key of development", () => {
  it("isn't created in production, and not used if it's a link, a folder or readable by others", async () => {
    const [file, link, dangling] = [key(), key(), key()];
    await mistakesOf(`token --key ${file}`, { env: { NODE_ENV: "production" } });
    expect(existsSync(file)).toBe(false);
    await outputOf(`token --key ${file}`);
    symlinkSync(file, link);
    symlinkSync(join(folder, "absent.pem"), dangling);
    expect(await mistakesOf(`token --key ${link}`)).toContain("is a symbolic link");
    await mistakesOf(`token --key ${dangling}`);
    expect(existsSync(join(folder, "absent.pem"))).toBe(false);
    chmodSync(file, 0o640);
    expect(await mistakesOf(`token --key ${file}`)).toContain("run chmod 600");
    await mistakesOf(`token --key ${folder}`);
    expect(await mistakesOf(`token --key ${join(folder, "no/key.pem")}`)).toContain("can't be written");
    chmodSync(wrongKey, 0o600);
    expect(await mistakesOf(`token --key ${wrongKey}`)).toMatch(/key\.pem`: .*isn't a private key/);
  });
});

describe("a secret", () => {
  it("isn't shown if JSON is wrong, but the place is", async () => {
    await outputOf(`routes --config ${fileOf('\uFEFF{"GET /a":["a:b"]}')}`);
    const notes = await mistakesOf(`lint --config ${json}`);
    // Node.js 20 has no position.
    expect(notes).toMatch(/isn't valid JSON( \(line 3 column 3\))?:/);
    expect(notes).not.toContain("canary");
  });

  it.each([
    "explain GET /agents --token TOKEN",
    "explain GET /agents TOKEN",
    "explain GET /agents --token=TOKEN",
    "explain GET /agents --scope TOKEN",
    "explain GET TOKEN",
    "explain TOKEN /agents",
    "explain GET /agents --tokn TOKEN",
    "explain GET /agents --config TOKEN",
    "TOKEN",
  ])("isn't shown if it is an argument: %s", async (line) => {
    const token = await issuer.token({ scopes: ["agents:read"] });
    const { code, out, notes } = await scopegate(line.replace("TOKEN", token));
    expect(code).toBe(2);
    expect(out + notes).not.toContain(token.slice(10, 40));
  });

  it("isn't shown if it is a key of another form", async () => {
    const opaque = "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz";
    const notes = await mistakesOf(`explain GET /agents --token ${opaque} ${opaque}`);
    expect(notes).not.toContain(opaque);
    expect(notes).toContain("--token takes only `-`");
  });
});

describe("a module that fails", () => {
  const noteOf = (code: string) => mistakesOf(`audit --app ${moduleOf(code)}`);

  it("is shown with its place and its causes, without their stacks", async () => {
    const file = fileOf(
      `function connect() {
  const cause = new TypeError("bad port");
  throw new Error("no database", { cause });
}
connect();`,
      "failing.mjs",
    );
    const notes = await mistakesOf(`audit --app ${file}`);
    const place = (column: string) => `  at ${file}:${column}`;
    expect(notes.replaceAll("file://", "").split("\n")).toEqual([
      expect.stringMatching(/^scopegate: .* can't be loaded: no database$/),
      expect.stringContaining(place("3:")),
      "Caused by: TypeError: bad port",
      expect.stringContaining(place("2:")),
      "",
    ]);
  });

  it.each([
    ["in a package", 'import express from "express";\n\nexpress().use();', /^ {2}at \S+app\.mjs:3:\d+$/m],
    ["in Node.js", 'import "node:fs";\nnew URL("wrong");', /^ {2}at \S+app\.mjs:2:/m],
    [
      "without a stack",
      'const error = new Error("", { cause: null }); error.stack = undefined; throw error;',
      /^scopegate: .* can't be loaded: Error\n$/,
    ],
    [
      "without a message",
      'throw Object.assign(new Error(""), { code: "ECONNREFUSED" });',
      /can't be loaded: ECONNREFUSED\n/,
    ],
    [
      "with a port that is in use",
      'throw Object.assign(new Error("listen EADDRINUSE"), { code: "EADDRINUSE" });',
      /listen EADDRINUSE\. Set PORT=0/,
    ],
    [
      "whose cause is itself",
      'const error = new Error("round"); error.stack = undefined; error.cause = error; throw error;',
      /round\n(?:Caused by: Error: round\n){4}$/,
    ],
  ])("is shown for an error %s, with the place in the application", async (_, code, shown) => {
    const notes = await noteOf(code);
    expect(notes).toMatch(shown);
    expect(notes).not.toContain("node_modules/");
  });
});
