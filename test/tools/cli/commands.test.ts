/** What each command prints. Wrong usage is the subject of mistakes.test.ts. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { agentScopeMappings, parseConfiguration } from "scopegate/complete";
import { createApiKey } from "scopegate/api-keys";
import { commands } from "../../../src/tools/cli/commands/index.ts";
import { createIssuer } from "../../support/issuer.ts";
import { nextFolders, proxy } from "../../support/next-folder.ts";
import { setOf } from "../../support/remote-keys.ts";
import { renderHelp } from "../../../src/tools/cli/run.ts";
import { createResourceServer } from "../../support/server.ts";
import { useOwnTimers } from "../../support/timers.ts";
import { appOf, fileOf, folder, jsonOf, mistakesOf, outputOf, scopegate, useFolder } from "./support.ts";

useFolder();

const nextFolder = nextFolders();
const issuer = createIssuer();
const keyed = { service_id: "agents-prod", verification_keys: [issuer.publicPem] };
/** A file that contains only scope mappings. */
const agents = fileOf(agentScopeMappings);
/** A configuration whose keys cannot be read. */
const KEYLESS = fileOf({ service_id: "a", keys: { jwks_file: "/nowhere/keys.json" } });
const CONTROL = /[^\P{C}\n]|\p{Zl}/u;
const keyFile = () => join(folder, `key-${Math.random()}.pem`);
const urlOf = (file: string) => JSON.stringify(new URL(`../../../src/${file}`, import.meta.url).href);
const LISTED = { algorithms: ["RS256"], scopes: ["agents:read"] };
/** A file of rules without the base table. */
const tableOf = (scope_mappings: object) => fileOf({ default_scope_mappings: {}, scope_mappings });

describe("scopegate", () => {
  it("lists every command, and shows the help of each", async () => {
    const overview = await outputOf([]);
    for (const command of commands) {
      const { name, summary } = command;
      expect(overview).toContain(`${name.padEnd(8)} ${summary}`);
      const help = await outputOf(`${name} --help`);
      expect(help).toBe(`${renderHelp(command)}\n`);
      expect(await outputOf(`help ${name}`)).toBe(help);
    }
  });

  it("has every command in the documentation, with options that it has", () => {
    const page = readFileSync("docs/reference/command-line.md", "utf8");
    const sections = page.split(/^## /m).slice(1);
    for (const command of commands) {
      const section = sections.find((text) => text.startsWith(`${command.name}\n`));
      expect(section, command.name).toBeDefined();
      const help = renderHelp(command);
      for (const [option] of section?.replaceAll(/\]\([^)]*\)/g, "").matchAll(/--[a-z][a-z-]*/g) ?? [])
        expect(help, `${command.name} ${option}`).toContain(` ${option} `);
    }
  });

  it("prints its version, and everything as JSON", async () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    expect(await outputOf("--version")).toBe(`${version}\n`);
    expect(await jsonOf("--json --version")).toEqual({ version });
    expect(await jsonOf(`explain --json get /agents --config ${agents}`, 2)).toMatchObject({
      mistakes: [expect.stringContaining("case-sensitive")],
    });
  });

  it("prints no control characters of foreign strings", async () => {
    const path = "/\u001b[31mred\u2028";
    const args = ["explain", "GET", path, "--config", fileOf({ "GET /x": ["a:b"] })];
    expect(await outputOf(args, 1)).not.toMatch(CONTROL);
    const json = await outputOf([...args, "--json"], 1);
    expect(json).not.toMatch(CONTROL);
    expect(JSON.parse(json)).toMatchObject({ path });
    const app = fileOf(`throw new Error("\u001b]0;title\u0007")`, "app.mjs");
    expect(await mistakesOf(`routes --app ${app}`)).not.toMatch(CONTROL);
  });
});

describe("scopegate token", () => {
  it("prints only a token to a pipe, and how to accept it to a terminal", async () => {
    const key = keyFile();
    const line = `token --scope agents:web:read --sub u1 --expires 1h --key ${key}`;
    const first = await scopegate(line);
    expect(first.out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(first.notes).toBe(`scopegate: created ${key}. It's only for development: don't commit it.\n`);
    const piped = await scopegate(line);
    expect(piped.notes).toBe("");
    const { notes } = await scopegate(line, { isTerminal: true });
    const [, list = ""] = /"verification_keys": (\[.*\])/.exec(notes) ?? [];
    const pem = await outputOf(`token --public-key --key ${key}`);
    expect(JSON.parse(list)).toEqual([pem.trim()]);
    const jwks = await outputOf(`token --jwks --key ${key}`);
    expect(jwks).not.toMatch(/"d"|"p"/);
    for (const keys of [{ verificationKeys: [pem] }, { keys: { jwksFile: fileOf(jwks) } }]) {
      const server = createResourceServer({ ...keys, verifyAudience: false });
      const principal = await server.authenticate(piped.out.trim());
      expect(principal).toMatchObject({ userId: "u1", scopes: ["agents:web:read"], audience: [] });
      expect(principal.expiresAt).toBeGreaterThan(Date.now() / 1000 + 3500);
    }
  });

  it("binds a token to a key, and prints a curl command whose proof a server accepts once", async () => {
    const line = `token --dpop --request 'POST https://api.example/a?b=1' --key ${keyFile()}`;
    const made = (await jsonOf(`${line} --json`)) as Record<string, string>;
    const { token, proof, verification_key: key = "" } = made;
    const server = createResourceServer({
      verificationKeys: [key],
      verifyAudience: false,
      senderConstraint: { dpop: { origins: ["https://api.example"] } },
      scopeMappings: { "POST /a": [] },
    });
    const request = { method: "POST", target: "/a?b=1", authorization: `DPoP ${token}` };
    const sent = { ...request, headers: { dpop: proof } };
    expect(await server.check(sent)).toMatchObject({ allowed: true });
    expect(await server.check(sent)).toMatchObject({ proofRejection: "replayed" });
    const [first, curl] = (await outputOf(line)).trim().split("\n");
    expect(first).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(curl).toMatch(/^curl --globoff -X POST -H 'Authorization: DPoP \S+' -H 'DPoP: \S+' 'https:.*'$/);
  });

  it("signs a token that fits the configuration, with additional claims", async () => {
    const config = {
      service_id: "agents-prod",
      issuer: "https://a.example",
      algorithm: "ES256",
      scopes_claim: "scp",
    };
    const claims = "--claim tenant=t1 --claim level=3 --claim nonce=null";
    const line = `token --config ${fileOf(config)} --key ${keyFile()} --scope a:b ${claims} --json`;
    const { token = "", verification_key } = (await jsonOf(line)) as Record<string, string>;
    const options = parseConfiguration({ ...config, verification_keys: [verification_key] });
    expect(await createResourceServer(options).authenticate(token)).toMatchObject({
      scopes: ["a:b"],
      issuer: "https://a.example",
      claims: { tenant: "t1", level: 3, nonce: null },
    });
  });

  it.each([
    ["cloudflare-access", "JWT"],
    ["github-actions", "JWT"],
    ["google-iap", "JWT"],
    ["transaction-token", "txntoken+jwt"],
    ["spiffe-jwt-svid", "JWT"],
  ])("signs a token like those of %s, with the type %s", async (kind, type) => {
    const made = await jsonOf(`token --json --like ${kind} --auth-age 1m --key ${keyFile()}`);
    const { token } = made as { token: string };
    const [header, payload] = token.split(".").map((part) => Buffer.from(part, "base64url").toString());
    expect(JSON.parse(payload ?? "")).toMatchObject({ auth_time: expect.any(Number) as number });
    expect(header).toContain(type);
  });

  it("creates its key with mode 0600, once", async () => {
    const key = keyFile();
    const tokens = await Promise.all([1, 2, 3].map(() => scopegate(`token --key ${key}`)));
    expect(tokens.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(statSync(key).mode & 0o777).toBe(0o600);
    const pem = readFileSync(key, "utf8");
    await scopegate(`token --key ${key}`);
    expect(readFileSync(key, "utf8")).toBe(pem);
  });
});

describe("scopegate explain", () => {
  const orgs = fileOf({
    "* /orgs/:org{/*path}": { scopes: ["orgs:read"], where: { org: { claim: "org_id" } } },
    "GET /orgs/:org/users": ["users:<org>:read"],
  });
  const mcp = fileOf({
    "MCP tools/list": ["tools:list"],
    "MCP tools/call search": ["agents:<agent_id>:run"],
    "MCP resources/read docs://a": ["docs:read"],
  });
  const bound = { dpop: { origins: ["https://api.example"] }, required: true };
  const payments = { "POST /payments": { scopes: ["payments:write"], sender_constrained: true } };
  const pay = (file: string) => `POST /payments --config ${file} --scope payments:write`;
  const runs = `POST /agents/web/runs --config ${agents} --scope`;
  const list = `GET /agents --config ${agents}`;
  const upper = `GET /AGENTS/web --config ${agents} --scope agents:read`;
  const search = `MCP 'tools/call search' --config ${mcp} --scope agents:web:run --arg`;
  const operation = (name: string, scope: string) => `MCP '${name}' --config ${mcp} --scope ${scope}`;
  const users = `GET /orgs/acme/users --config ${orgs} --scope users:read`;
  const logs = `GET /orgs/acme/logs --config ${orgs} --scope users:read --claim org_id=acme`;
  const configured = fileOf({ sender_constraint: bound, scope_mappings: payments });
  const tenantRules = {
    "* /orgs/:org{/*path}": { scopes: [], where: { org: { tenant: true } }, unless: ["orgs:cross"] },
  };
  const tenantConfig = fileOf({
    default_scope_mappings: {},
    scope_mappings: tenantRules,
    service_id: "agents-prod",
    issuers: [
      {
        issuer: "https://login.acme.example",
        keys: { jwks_file: "/absent/keys.json" },
        algorithms: ["ES256"],
        tenant: "acme",
        scopes: ["orgs:cross"],
      },
    ],
  });
  const tenants = `GET /orgs/acme --config ${tenantConfig} --scope`;
  const tenantTable = `GET /orgs/acme --config ${fileOf(tenantRules)} --scope`;
  const SUBSCRIBE = operation("resources/subscribe docs://a", "docs:read");
  const WHERE = "caller_not_allowed (where of `* /orgs/:org{/*path}`)";
  const NO_TENANT = "the caller has no tenant, because its issuer has";

  it.each<[requirement: string, line: string, code: number, ...parts: string[]]>([
    ["allows a caller", `${runs} agents:web:run`, 0, "decision   allowed"],
    ["shows a missing scope", `${runs} agents:api:run`, 1, "missing    agents:web:run", "response   403"],
    ["asks for a token", list, 1, "credential_missing"],
    ["has a token without scopes", `${list} --scope ''`, 1, "scope_insufficient"],
    ["adds scopes", `${list} --scope '' --scope agents:read`, 0],
    ["needs no keys for scopes", `GET /agents --config ${KEYLESS} --scope agents:read`, 0],
    ["shows what --route is for", upper, 1, "With --route PATTERN, the rule for the route"],
    ["decides by the route", `${upper} --route /agents/:agent_id`, 0],
    ["decides by an argument", `${search} agent_id=web`, 0],
    ["decides by an argument", `${search} agent_id=api`, 1],
    ["decides an operation", operation("tools/list", "tools:list"), 0, "decision   allowed"],
    ["shows that there is no rule", operation("prompts/list", "a:b"), 1, "refused: route_unmapped"],
    ["decides by the resource of a subscription", SUBSCRIBE, 0, "rule       MCP resources/read docs://a"],
    ["needs a name", operation("tools/call", "a:b"), 1, "refused: request_ambiguous", "response   400"],
    ["shows a condition", `${users} --claim org_id=x`, 1, WHERE],
    ["counts the scopes of the rule that decides", logs, 1, "requires   orgs:read"],
    ["asks for a proof", pay(configured), 1, "proof_missing"],
    ["asks for a proof by a table alone", pay(fileOf(payments)), 1, "proof_missing"],
    ["shows that a caller has no tenant", `${tenants} ''`, 1, NO_TENANT],
    ["shows another tenant", `${tenants} '' --tenant globex`, 1, "the tenant of the caller is globex"],
    ["gives the caller a tenant", `${tenants} '' --tenant acme`, 0, "decision   allowed"],
    ["gives a tenant by a table alone", `${tenantTable} '' --tenant acme`, 0, "decision   allowed"],
    ["lifts `unless` if the issuer can grant it", `${tenants} orgs:cross --tenant x`, 0],
    ["lifts none for an unknown issuer", `${tenantTable} orgs:cross --tenant x`, 1, "caller_not_allowed"],
    ["accepts a bound caller", `${pay(configured)} --claim 'cnf={"jkt":"x"}'`, 0, "allowed"],
    ["accepts a bound caller by a table alone", `${pay(fileOf(payments))} --claim 'cnf={"jkt":"x"}'`, 0],
  ])("%s", async (_, line, code, ...parts) => {
    const out = await outputOf(`explain ${line}`, code);
    for (const part of parts) expect(out).toContain(part);
  });

  it("shows which rule decides by scopes, and which one only adds its conditions, also for a token", async () => {
    const lines = [
      "  rule       GET /orgs/:org/users (custom)",
      "  requires   users:acme:read",
      "  rule       * /orgs/:org{/*path} (custom)",
      "  requires   only its conditions",
      "  condition  org is the claim org_id",
    ].join("\n");
    expect(await outputOf(`explain ${users} --claim org_id=acme`)).toContain(`\n${lines}\n`);
    const rules = JSON.parse(readFileSync(orgs, "utf8")) as object;
    const config = fileOf({ ...keyed, default_scope_mappings: {}, scope_mappings: rules });
    const input = await issuer.token({ aud: "agents-prod", scopes: ["users:read"], org_id: "acme" });
    const line = `explain GET /orgs/acme/users --config ${config} --token -`;
    expect(await outputOf(line, 0, { input })).toContain(lines);
  });

  it("says at a terminal what --route would add", async () => {
    const table = fileOf({ "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] });
    const notesOf = async (line: string) => (await scopegate(line, { isTerminal: true })).notes;
    const alone = await notesOf(`explain GET /agents --config ${agents} --scope agents:read`);
    expect(alone).toContain("Without --route: only the path");
    expect(alone).not.toContain("would be added");
    const unreadable = await scopegate(`explain GET /agents%2Fme --config ${agents}`, { isTerminal: true });
    expect(`${unreadable.out}${unreadable.notes}`).not.toContain("--route");
    expect(await notesOf(`explain GET /agents/me --config ${table} --scope x:y`)).toContain(
      "With --route `/agents/:id`, `GET /agents/:id` would be added.",
    );
  });

  it("decides by the route that the framework matched, with and without a token", async () => {
    const config = fileOf({ ...keyed, scope_mappings: { "GET /agents/me": ["self:read"] } });
    const input = await issuer.token({ scopes: ["self:read"], aud: "agents-prod" });
    for (const caller of ["--scope self:read", "--token -"]) {
      const line = `explain --config ${config} ${caller} GET`;
      expect(await outputOf(`${line} /AGENTS/me`, 1, { input })).toContain("request_ambiguous");
      await outputOf(`${line} /AGENTS/me --route /agents/me`, 0, { input });
      const parameter = `${line} /agents/me --route /agents/:agent_id --json`;
      expect(await jsonOf(parameter, 1, { input })).toMatchObject({
        matchedPattern: "/agents/:agent_id",
        missing: ["agents:me:read"],
      });
    }
  });

  it.each([
    [{ aud: "another" }, "audience", ["expected aud: agents-prod", 'found      aud: "another"']],
    [{ aud: undefined }, "audience", ["found      aud: none"]],
    [
      { exp: 1 },
      "expired",
      [
        "found      exp: 1 (1970-01-01T00:00:01.000Z), iat: ",
        "claims     aud exp",
        `because    now: ${new Date().toISOString().slice(0, 11)}`,
        "Z, tolerance: 0 s\n",
      ],
    ],
    [{ cnf: { jkt: "canary-value" } }, "claims", ["the claim cnf binds the token to a key of its client"]],
    [{ scopes: undefined }, "claims", ["because    the claim scopes is missing or has a wrong value"]],
    [{ sub: 5.5 }, "claims", ["because    the claim sub is missing or has a wrong value"]],
  ])("shows why a token with %j is rejected, and no unrelated value", async (claims, rejection, lines) => {
    const token = { scopes: ["agents:read"], aud: "agents-prod", secret: "canary-value", ...claims };
    const input = await issuer.token(token);
    const line = `explain GET /agents --config ${fileOf(keyed)} --token -`;
    const { code, out, notes } = await scopegate(line, { input: `Bearer ${input}\n` });
    expect(code).toBe(1);
    for (const part of [`refused: token_rejected (${rejection})`, ...lines]) expect(out).toContain(part);
    for (const secret of ["canary-value", input.slice(0, 20)]) expect(out + notes).not.toContain(secret);
  });

  it("prints as JSON what the text shows of a rejected token, and no other value of it", async () => {
    const input = await issuer.token({ aud: "other-service", iss: "canary-iss", scopes: [] });
    const line = `explain GET /agents --token - --json --config ${fileOf(keyed)}`;
    const data = (await jsonOf(line, 1, { input })) as Readonly<Record<string, unknown>>;
    expect(JSON.stringify(data)).not.toContain("canary");
    expect(data).toMatchObject({
      rejection: "audience",
      status: 401,
      because: ["expected aud: agents-prod"],
      found: 'aud: "other-service"',
      claims: expect.arrayContaining(["aud", "iss"]) as unknown,
    });
    for (const name of ["claimed", "principal"]) expect(data).not.toHaveProperty(name);
  });

  it("prints what the shadow table decides for a token, without its claims", async () => {
    const shadow = { scope_mappings: { "GET /agents": ["agents:write"] } };
    const config = fileOf({ ...keyed, scope_mappings: { "GET /agents": [] }, shadow });
    const input = await issuer.token({ aud: "agents-prod", scopes: ["agents:read"], secret: "canary-value" });
    const data = await jsonOf(`explain GET /agents --token - --json --config ${config}`, 0, { input });
    expect(data).toMatchObject({ allowed: true, shadow: { reason: "scope_insufficient" } });
    expect(JSON.stringify(data)).not.toContain("canary-value");
  });

  it("shows the kid of a token that no key verifies, and the known ones", async () => {
    const other = createIssuer({ kid: "2025" });
    const input = await other.token({ scopes: ["agents:read"], aud: "agents-prod" });
    const keys = { jwks: setOf(createIssuer({ kid: "2026" })) };
    const config = fileOf({ service_id: "agents-prod", keys });
    const out = await outputOf(`explain GET /agents --config ${config} --token -`, 1, { input });
    expect(out).toContain("token_rejected (key)");
    expect(out).toContain("because    expected kid: 2026\n");
    expect(out).toContain('found      kid: "2025", alg: "RS256"\n');
  });

  it.each([`--config ${fileOf(keyed)}`, `--app ${appOf("server.ts")}`])(
    "accepts a good token of the configuration or of the application",
    async (from) => {
      const input = await issuer.token({ scopes: ["agents:read"], aud: "agents-prod" });
      await outputOf(`explain GET /agents --token - ${from}`, 0, { input });
    },
  );

  it("fetches no keys after its answer", async () => {
    const input = await issuer.token({ scopes: ["agents:read"], aud: "agents-prod" });
    const config = fileOf({ keys: { jwks_uri: "https://127.0.0.1:1/keys" }, service_id: "agents-prod" });
    const { run, count } = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const line = `explain GET /agents --token - --config ${config}`;
      expect(await run(() => outputOf(line, 1, { input }))).toContain("keys_unavailable");
      expect(count()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("shows no values of a token that is not a JWT", async () => {
    const options = { prefix: "acme_pat_", name: "ci", ownerId: "u1", scopes: ["agents:read"] };
    const { key: input } = createApiKey(options);
    const out = await outputOf(`explain GET /agents --token - --app ${appOf("keyed.ts")}`, 1, { input });
    expect(out).toContain("refused: token_rejected (key)");
    expect(out).not.toContain("found ");
  });
});

describe("scopegate audit", () => {
  it.each(["express.ts", "router.ts", "fastify4.ts", "nest.ts"])(
    "finds the route without a rule in %s",
    async (app) => {
      const { code, out, notes } = await scopegate(`audit --app ${appOf(app)}`);
      expect([code, notes]).toEqual([1, ""]);
      expect(out).toContain("`DELETE /agents/:agent_id` has no rule");
      expect(out).toContain("2 routes, 1 with a rule; 1 error");
    },
  );

  const MOUNTED = (names: string) => `import express from "express";
    const app = express();
    const mounted = [express().get("/users", (request, response) => response.end())];
    app.use("/admin", mounted[0]);
    export { ${names} };`;
  const gateway = fileOf(
    `import express from "express";
    export const app = express().get("/users", (request, response) => response.end());`,
    "gateway.mjs",
  );
  const ROUTES = `export const routes = [{ method: "GET", pattern: "/agents" }];`;
  const BOTH = `export { app, server } from ${JSON.stringify(appOf("express.ts"))};
    export const routes = Promise.resolve([{ method: "GET", pattern: "/own" }]);`;
  const open = fileOf({
    scope_mappings: { "DELETE /agents/:id": ["agents:<id>:delete"], "GET /{*path}": "public" },
  });
  const weak = fileOf({ scope_mappings: { "* /{*path}": [] } });
  const ofExpress = `audit --app ${appOf("express.ts")} --config`;
  const ofGateway = `audit --app ${gateway} --config ${fileOf({ "GET /users": ["users:read"] })}`;
  const ofModule = (code: string, table: object) =>
    `audit --app ${fileOf(code, "app.mjs")} --config ${fileOf(table)}`;
  const ADMIN = { "GET /admin/users": ["users:read"] };

  it.each<[requirement: string, line: string, code: number, ...parts: string[]]>([
    ["fails for a public rule for every path", `${ofExpress} ${open}`, 1, "public_catch_all"],
    ["accepts it if it is declared", `${ofExpress} ${open} --public-catch-all 'GET /{*path}'`, 0],
    ["accepts warnings", `${ofExpress} ${weak}`, 0],
    ["fails for them with --warnings", `${ofExpress} ${weak} --warnings`, 1],
    ["can't see mounted applications", ofModule(MOUNTED("app"), ADMIN), 2],
    ["lists those that are exported", ofModule(MOUNTED("app, mounted"), ADMIN), 1, "1 route, with a rule"],
    ["fails without protect", ofGateway, 1, "error guard_missing: the application has no protect"],
    ["accepts a guard elsewhere", `${ofGateway} --guarded-elsewhere '/{*path}'`, 0, "1 route, with a rule"],
    ["fails for a guard of other paths", `${ofGateway} --guarded-elsewhere /other`, 1, "guard_missing"],
    ["reads routes alone", ofModule(ROUTES, { "GET /agents": [] }), 0],
    [
      "adds routes to those of an application, also as a promise",
      `audit --app ${fileOf(BOTH, "both.mjs")}`,
      1,
      "`DELETE /agents/:agent_id` has no rule",
      "`GET /own` has no rule",
    ],
  ])("%s", async (_, line, code, ...parts) => {
    const out = await outputOf(line, code);
    for (const part of parts) expect(out).toContain(part);
  });

  it("lists a folder app of Next.js, with the configuration above it", async () => {
    const table = fileOf({ "GET /admin": ["admin:use"], "GET /teams{/*path}": "public" });
    const files = { "src/app/admin/page.tsx": "", "src/proxy.ts": proxy(), "package.json": "{}" };
    const lineWith = (more: Readonly<Record<string, string>>) => {
      const project = dirname(nextFolder({ ...files, ...more }));
      return `audit --config ${table} --app ${join(project, "src/app")}`;
    };
    const config = `export default { rewrites: async () => [{ source: "/teams/:path*", destination: "/:path*" }] };`;
    const opened = "rewrite_weaker: the rewrite `/teams/:path*` -> `/:path*` opens a route";
    expect(await outputOf(lineWith({ "next.config.mjs": config }), 1)).toContain(opened);
    expect(await outputOf(lineWith({ "src/next.config.mjs": config }), 1)).toContain(opened);
    const without = await outputOf(lineWith({}), 1);
    expect(without).not.toContain("rewrite_weaker");
    expect(without).toContain("1 route, with a rule");
    const broken = await mistakesOf(lineWith({ "next.config.mjs": 'throw new Error("no database");' }));
    expect(broken).toContain("can't be loaded: no database");
    // Node.js 20 can't load TypeScript.
    const typed = await mistakesOf(lineWith({ "next.config.ts": "throw new Error();" }));
    expect(typed).toContain("write `node --import tsx node_modules/scopegate/dist/cli.js` instead");
  });
});

describe("scopegate init", () => {
  /** The lines that it prints for an application with these routes. */
  const linesFor = async (...routes: readonly object[]): Promise<readonly string[]> => {
    const app = fileOf(`export const routes = ${JSON.stringify(routes)};`, "app.mjs");
    return ((await jsonOf(`init --app ${app} --json`)) as { readonly lines: readonly string[] }).lines;
  };

  it("prints a table in which nothing is decided, so that it opens no route", async () => {
    const file = join(folder, "policy.mjs");
    const printed = await outputOf(`init --app ${appOf("express.ts")}`);
    expect(printed).toMatch(/[^\n]\n$/);
    writeFileSync(file, printed);
    const { scopeMappings } = (await import(file)) as { readonly scopeMappings: object };
    expect(scopeMappings).toEqual({});
  });

  it("prints lines with which the application passes its audit, once they are decided", async () => {
    const printed = await outputOf(`init --app ${appOf("express.ts")}`);
    expect(printed.match(/^ {2}\/\/ "/gm)).toHaveLength(2);
    const file = join(folder, "decided.mjs");
    writeFileSync(file, printed.replaceAll("  // ", "  "));
    const { scopeMappings } = (await import(file)) as { readonly scopeMappings: object };
    expect(await outputOf(`audit --app ${appOf("express.ts")} --config ${fileOf(scopeMappings)}`)).toContain(
      "2 routes, each with a rule",
    );
  });

  it.each<[method: string, pattern: string, ...lines: string[]]>([
    ["GET", "/orders", '"GET /orders": ["orders:read"],'],
    ["POST", "/api/v1/Orders", '"POST /api/v1/Orders": ["orders:write"],'],
    ["GET", "/stores/:store_id/orders", '"GET /stores/:store_id/orders": ["stores:<store_id>:read"],'],
    ["*", "/:tenant/files/*path", '"* /:tenant/files/*path": ["files:write"],'],
    ["DELETE", "/:id", '"DELETE /:id": ["resource:<id>:write"],'],
    ["GET", "/a{/:id}", '"GET /a/:id": ["a:<id>:read"],', '"GET /a": ["a:read"],'],
    ["GET", "/healthz", '"GET /healthz": "public",'],
    ["MCP", "tools/call search", '"MCP tools/call search": ["search:call"],'],
    ["GET", "/a{/*x/b}", '"GET /a{/*x}": ["a:read"], // matches other paths than /a{/*x/b} too'],
    ["GET", "/:a-:b", '"GET /:a": ["resource:<a>:read"], // matches other paths than /:a-:b too'],
    [
      "MCP",
      "tools/call docs_*",
      "MCP tools/call docs_* can't be named: its rule would match other operations too.",
    ],
    ["HEAD", "/orders"],
    ["OPTIONS", "/{*path}"],
  ])("guesses the scopes of %s %s", async (method, pattern, ...lines) => {
    expect(await linesFor({ method, pattern }, { method, pattern })).toEqual(lines);
  });

  it.each(["\n", "\r", "\u2028", "\u2029"])("keeps a name with %j in its comment", async (end) => {
    const code = `${end}["GET /admin"]: (() => { throw new Error("runs") })(), //`;
    const routes = [
      { method: "GET", pattern: `/a${code}` },
      { method: "GET", pattern: `/(${code}` },
      { method: "MCP", pattern: `tools/call x${code}` },
    ];
    const app = fileOf(`export const routes = ${JSON.stringify(routes)};`, "app.mjs");
    const file = join(folder, `${Math.random()}.mjs`);
    writeFileSync(file, await outputOf(`init --app ${app}`));
    expect(await import(file)).toMatchObject({ scopeMappings: {} });
  });

  it("lists no static files, and says why a route can't have a rule", async () => {
    const files = { method: "GET", pattern: "/{*path}", serves: "static files" };
    expect(await linesFor(files, { method: "GET", pattern: "/(" })).toEqual([
      expect.stringContaining("GET /( "),
    ]);
  });

  it("needs an application with routes", async () => {
    const message =
      "init needs the routes of an application: write --app ./app.js, and export `app` or `routes` from this file.";
    expect(await mistakesOf("init")).toContain(message);
    expect(await mistakesOf(`init --app ${appOf("server.ts")}`)).toContain(message);
  });
});

describe("scopegate routes", () => {
  it("lists the effective table with sources and the fate of other routes", async () => {
    const config = fileOf({ scope_mappings: { "GET /agents": [], "GET /x": "public" } });
    const out = await outputOf(`routes --config ${config}`);
    expect(out).toMatch(/^GET \/agents +a valid token +override$/m);
    expect(out).toMatch(/^GET \/x +nothing +custom$/m);
    expect(out).toMatch(/^every other route +refused/m);
    const open = fileOf({ unmapped_routes: "authenticated" });
    expect(await jsonOf(`routes --config ${open} --json`)).toMatchObject({
      others: "a valid token",
      rules: expect.arrayContaining([expect.objectContaining({ key: "GET /agents" })]) as unknown,
    });
  });

  const TABLE = { "GET /x": ["x:read"] };

  it.each<[config: object, keys: readonly string[]]>([
    [TABLE, ["GET /x"]],
    [{ scope_mappings: TABLE }, [...Object.keys(agentScopeMappings), "GET /x"]],
    [{ scope_mappings: TABLE, default_scope_mappings: {} }, ["GET /x"]],
  ])("adds a base table to a configuration only: %j", async (config, keys) => {
    const listed = await jsonOf(`routes --config ${fileOf(config)} --json`);
    expect((listed as { rules: { key: string }[] }).rules.map(({ key }) => key)).toEqual(keys);
  });
});

describe("scopegate matrix", () => {
  const roles = fileOf({ nobody: "anonymous", reader: ["agents:read"] });
  const config = tableOf({ "GET /a": ["agents:read"], "GET /b": [] });
  const check = `matrix --roles ${roles} --config ${config} --check`;

  it("shows who may call what, and writes it as a snapshot", async () => {
    const snapshot = join(folder, "access.md");
    const created = await scopegate(`${check} ${snapshot} --write`, { isTerminal: true });
    expect(created.notes).toMatch(/^The new snapshot is in `.*access\.md`\.\n$/);
    expect(created.out).toBe(`| route  | role   | result             |
| ------ | ------ | ------------------ |
| GET /a | nobody | credential_missing |
| GET /a | reader | allowed            |
| GET /b | nobody | credential_missing |
| GET /b | reader | allowed            |
`);
    expect(readFileSync(snapshot, "utf8")).toBe(created.out);
  });

  it("shows what has changed, which fails unless the snapshot is written again", async () => {
    const snapshot = fileOf("", "access.md");
    const lineFor = (table: object) =>
      `matrix --roles ${roles} --check ${snapshot} --config ${fileOf(table)}`;
    await outputOf(`${lineFor({ "GET /a": ["agents:read"] })} --write`);
    const changed = lineFor({ "GET /a": "public", "GET /b": [] });
    const out = [
      "+ GET /a | nobody | allowed",
      "- GET /a | nobody | credential_missing",
      "+ GET /b | nobody | credential_missing",
      "+ GET /b | reader | allowed\n",
    ].join("\n");
    const failed = await scopegate(changed, { isTerminal: true });
    expect(failed).toMatchObject({ code: 1, out, notes: expect.stringContaining("--write") as string });
    expect(await scopegate(`${changed} --write`, { isTerminal: true })).toMatchObject({ code: 0, out });
    expect(readFileSync(snapshot, "utf8")).toContain("| GET /a | nobody | allowed");
    expect(await jsonOf(`${changed} --write --json`)).toMatchObject({ changes: [] });
  });

  it("reads a table in any padding, and overwrites no file with anything but one table", async () => {
    const snapshot = fileOf("", "access.md");
    await outputOf(`${check} ${snapshot} --write`);
    const table = readFileSync(snapshot, "utf8");
    const narrow = table.replaceAll("  ", " ");
    for (const text of [`\n${table}\n\n`, table.replaceAll("\n", "\r\n"), narrow]) {
      writeFileSync(snapshot, text);
      await outputOf(`${check} ${snapshot} --write`);
      expect(readFileSync(snapshot, "utf8")).toBe(table);
    }
    writeFileSync(snapshot, `# Access\n\n${narrow}`);
    await outputOf(`${check} ${snapshot}`);
    const other = "| team | lead |\n| ---- | ---- |\n";
    const others = [`# Access\n\n${table}`, `${table}\nSee also the audit.\n`, `${table}\n${table}`, other];
    for (const text of [...others, `${table}\n${other}`, "| a |\n"]) {
      writeFileSync(snapshot, text);
      expect(await mistakesOf(`${check} ${snapshot} --write`), text).toMatch(
        /contains (?:other text than an access table: keep the snapshot in|no access table)/,
      );
      expect(readFileSync(snapshot, "utf8")).toBe(text);
    }
  });

  it.each([
    [{ claim: "org_id" }, { acme: { claims: { org_id: "acme" } }, globex: { claims: { org_id: "globex" } } }],
    [{ tenant: true }, { acme: { tenant: "acme" }, globex: { tenant: "globex" } }],
  ])("shows roles with claims and tenants, for the condition %j", async (org, { acme, globex }) => {
    const table = fileOf({ "GET /orgs/:org": { scopes: [], where: { org } } });
    const members = fileOf({ acme: { scopes: [], ...acme }, globex: { scopes: [], ...globex }, reader: [] });
    const rows = await outputOf(`matrix --config ${table} --roles ${members} --param org=acme`);
    expect(rows).toMatch(/GET \/orgs\/acme +\| acme +\| allowed/);
    for (const role of ["globex", "reader"])
      expect(rows).toMatch(new RegExp(`GET /orgs/acme +\\| ${role} +\\| caller_not_allowed`));
  });

  it("lists rules for which no path was found", async () => {
    const hidden = fileOf({ "GET /a/:id": ["a:read"], "GET /a/me": [] });
    const { out } = await scopegate(`matrix --roles ${roles} --config ${hidden} --param id=me`);
    expect(out).toMatch(/^\| GET \/a\/:id +\| every role \| no path found/m);
  });

  const SECRET = "a secret with more than 32 characters";
  const keys = { verification_keys: [issuer.publicPem] };
  const absentKeys = { keys: { jwks_file: "/absent.json" } };
  const listed = (more: object) => ({
    issuers: [{ ...LISTED, issuer: "https://a.example", tenant: "a", ...more }],
  });

  it.each<[what: string, keys: object, absent: object]>([
    ["a file of keys", keys, absentKeys],
    ["a secret", { algorithm: "HS256", verification_keys: [SECRET] }, { algorithm: "HS256" }],
    ["issuers", listed(keys), listed(absentKeys)],
  ])("prints the digest of the service without reading its keys: %s", async (_, keys, absent) => {
    const file = { service_id: "agents", required_claims: ["exp"], clock_tolerance_seconds: 5 };
    const printed = await jsonOf(`matrix --config ${fileOf({ ...file, ...absent })} --roles ${roles} --json`);
    const service = createResourceServer(parseConfiguration({ ...file, ...keys }));
    expect(printed).toMatchObject({ policy: service.health().policy });
  });

  it("shows with --shadow what the shadow table decides", async () => {
    const shadow = { scope_mappings: { "GET /a": ["agents:write"], "GET /b": ["agents:read"] } };
    const shadowed = fileOf({
      default_scope_mappings: {},
      scope_mappings: { "GET /a": [], "GET /b": "public" },
      shadow,
    });
    const line = `matrix --roles ${roles} --config ${shadowed}`;
    expect(await outputOf(`${line} --shadow`)).toBe(`| route  | role   | result             |
| ------ | ------ | ------------------ |
| GET /a | nobody | credential_missing |
| GET /a | reader | scope_insufficient |
| GET /b | nobody | undecided          |
| GET /b | reader | undecided          |
`);
    expect(await outputOf(line)).not.toContain("scope_insufficient");
  });
});

describe("the base table of a configuration file", () => {
  const roles = fileOf({ reader: ["agents:read"] });
  const TWELVE = "12 rules and the admin scope platform:admin come";
  const OWN = { "GET /agents": ["agents:list"] };

  it.each<[json: object, start: string | undefined]>([
    [{}, TWELVE],
    [{ admin_scope: null, scope_mappings: OWN }, "11 rules come"],
    [{ default_scope_mappings: {} }, undefined],
    [{ default_scope_mappings: OWN }, undefined],
  ])("is named with how to leave it out, in one line, unless the file has one: %j", async (json, start) => {
    const config = fileOf({ ...keyed, ...json });
    for (const command of ["lint", "routes", `matrix --roles ${roles}`, "page"]) {
      const { out, notes } = await scopegate(`${command} --config ${config}`);
      const lines = `${out}${notes}`.split("\n");
      const line = lines.find((text) => text.includes("from the base table of the interface"));
      expect(line?.includes(start ?? "")).toBe(start === undefined ? undefined : true);
      if (start !== undefined) expect(line).toMatch(/write \\?"default_scope_mappings\\?": \{\} in the file/);
    }
  });
});

describe("scopegate lint", () => {
  const lint = (json: object, code = 0) => outputOf(`lint --config ${fileOf(json)}`, code);
  const NONE = "The configuration has no mistakes.\n";

  it("reads the keys of operations in a file without keys", async () => {
    const file = fileOf({
      service_id: "docs",
      default_scope_mappings: {},
      scope_mappings: { "POST /a/mcp": [], "MCP /a/mcp tools/call x": ["docs:read"], "MCP x/y": [] },
      mcp: { paths: ["/a/mcp"], methods: { "x/y": null } },
    });
    expect(await outputOf(`lint --config ${file}`)).not.toContain("error ");
  });

  it("finds the same in the options of a server in code, by their names there", async () => {
    const lintServer = (options: object, more = "", code = 0) => {
      const server = `createResourceServer(${JSON.stringify(options)})`;
      const module = `import { createResourceServer } from ${urlOf("complete/index.ts")};\nexport const server = ${server};`;
      return outputOf(`lint --app ${fileOf(module, "server.mjs")} ${more}`, code);
    };
    const weak = {
      verification_keys: ["a-secret-of-more-than-thirty-two-bytes-0123456789"],
      algorithm: "HS256",
      verify_audience: false,
      unmapped_routes: "authenticated",
      clock_tolerance_seconds: 900,
      implied_scopes: { "agents:write": ["agents:raed"] },
      token_sources: [{ header: "x-assertion", scheme: null }],
      scope_mappings: { "GET /{*path}": "public", "GET /agents": ["agents:read"] },
      default_scope_mappings: {},
    };
    const toCode = (text: string) =>
      text.replaceAll(/`\w+[`:]/g, (name) =>
        name.replaceAll(/_[a-z]/g, (part) => part.slice(1).toUpperCase()),
      );
    const out = await lintServer(parseConfiguration(weak));
    expect(out).toBe(toCode(await lint(weak)));
    for (const part of [
      "warning `unmappedRoutes` accepts",
      "Write `requiredClaims: [",
      "warning `verifyAudience` is false",
      "warning with HS*",
      "warning `clockToleranceSeconds` accepts",
      "warning public_catch_all: `GET /{*path}` allows everyone",
      "warning `agents:raed` is only in `map` or `impliedScopes`",
      "note `x-assertion`",
    ])
      expect(out).toContain(part);
    await lintServer(parseConfiguration(weak), "--warnings", 1);

    const keys = { jwksUri: "https://login.example/keys" };
    const shared = { serviceId: "a", requiredClaims: ["exp"], keys };
    const off = await lintServer({ ...shared, authorization: false });
    expect(off).toMatch(/^warning authorization is false[^]*^warning the issuer of a token isn't checked/m);
    expect(await lintServer({ ...shared, issuer: "https://login.example/" })).toBe(NONE);
    const issuers = [{ issuer: "https://a.example", keys, algorithms: ["RS256"] }];
    expect(await lintServer({ serviceId: "a", issuers })).toBe(
      'warning https://a.example: a token without `exp` never expires. Write `requiredClaims: ["exp"]`.\n',
    );
  });

  const wrong = { "get /x": [], "GET /y": ["a b"], "GET /z/:id": ["a:<x>:b"] };
  const conditions = {
    "GET /a/:id": { any_of: ["a:b", "c d"] },
    "GET /b": { scopes: [], max_auth_age_seconds: "5", acr: { any_of: [5] } },
    "GET /c": { scopes: [], sender_constrained: true },
    "GET /d/:maxAuthAgeSeconds": { scopes: ["x y"], where: { maxAuthAgeSeconds: {} } },
  };
  const open = { service_id: "a", scope_mappings: { "GET /{*path}": "public" } };
  const absent = { keys: { jwks_file: "absent.json" } };
  const source = { token_sources: [{ header: "x-assertion", scheme: null }], default_scope_mappings: {} };
  const EXP = '`required_claims: ["exp"]`';

  it.each<[requirement: string, json: object, code: number, ...parts: string[]]>([
    ["accepts scope mappings alone", { "GET /x": ["a:b"] }, 0, NONE],
    ["accepts a good file", { ...keyed, default_scope_mappings: {}, required_claims: ["exp"] }, 0, NONE],
    ["warns of an absent key file", { service_id: "a", ...absent }, 0, "warning keys.jwks_file"],
    ["warns of tokens and public rules without keys", open, 0, EXP, "GET /{*path}"],
    ["warns of them with unusable keys", { ...open, ...absent }, 0, EXP, "GET /{*path}"],
    ["warns of tokens in a file of rules only", { scope_mappings: {}, default_scope_mappings: {} }, 0, EXP],
    ["notes that a proxy must remove a field", { ...source, service_id: "a" }, 0, "\nnote `x-assertion`"],
    [
      "keeps a route key as it is written, and shows where it belongs",
      { "GET /a": ["a:b"], service_id: "s" },
      1,
      "error GET /a: received unknown option `GET /a`.",
      "belongs in `scope_mappings`",
    ],
    [
      "writes mistakes with the names of a file",
      { ...keyed, service_id: undefined, scope_mappings: wrong },
      1,
      'error scope_mappings["GET /y"]',
      'error scope_mappings["GET /z/:id"]',
      "methods are case-sensitive",
      "is missing, but `verify_audience` needs it",
    ],
    [
      "writes paths and fixes with the names of a file",
      { service_id: "a", scope_mappings: conditions },
      1,
      'error scope_mappings["GET /a/:id"].any_of[1]: ',
      'error scope_mappings["GET /b"].max_auth_age_seconds: ',
      "are enough: { any_of: [",
      'Write sender_constraint: { dpop: { origins: ["https://api.example"] } }, or remove',
      'error scope_mappings["GET /d/:maxAuthAgeSeconds"].where.maxAuthAgeSeconds: ',
    ],
    [
      "writes a second table with the names of a file",
      { scope_mappings: { "GET /a": { report: [] } } },
      1,
      "as a second table: shadow: { scope_mappings }.",
    ],
    [
      "writes the fix of a rule with the names of a file",
      { scope_mappings: { "GET /a": { max_auth_age_seconds: 5 } } },
      1,
      'can\'t be `{"max_auth_age_seconds":5}`. Write { scopes: [], max_auth_age_seconds }',
    ],
    [
      "writes options with the names of a file",
      { resource: "x", token_cache: { max_entries: 0 } },
      1,
      "token_cache.max_entries: ",
      "{ id, authorization_servers }",
    ],
  ])("%s", async (_, json, code, ...parts) => {
    const out = await lint(json, code);
    for (const part of parts) expect(out).toContain(part);
    expect(out).not.toContain("verifyAudience");
  });

  it("doesn't count notes as warnings", async () => {
    const config = fileOf({ ...source, service_id: "a", required_claims: ["exp"] });
    expect(await outputOf(`lint --config ${config} --warnings`)).toMatch(/^note `x-assertion`/m);
  });
});

describe("scopegate openapi", () => {
  const api = (paths: object, more: object = {}) =>
    fileOf({ openapi: "3.1.0", info: { title: "Agents", version: "1" }, paths, ...more }, "api.json");
  const table = tableOf({ "GET /agents": ["agents:read"] });
  const get = (more: object) => ({ get: { responses: {}, ...more } });

  it("writes a document that the check accepts, and that is imported as the same table", async () => {
    const plain = api({ "/agents": get({}) });
    expect(await outputOf(`openapi check ${plain} --config ${table}`, 1)).toContain("security_missing");
    const secured = fileOf(await outputOf(`openapi write ${plain} --config ${table}`), "secured.json");
    await outputOf(`openapi check ${secured} --config ${table}`);
    expect(await jsonOf(`openapi import ${secured}`)).toEqual(JSON.parse(readFileSync(table, "utf8")));
  });

  it("keeps YAML, and takes a base path", async () => {
    const yaml = fileOf(
      "openapi: 3.0.3\ninfo: { title: a, version: '1' }\npaths:\n  /agents: { get: { responses: {} } }\n",
      "api.yaml",
    );
    expect(await outputOf(`openapi write ${yaml} --config ${table}`)).toMatch(/^openapi: /);
    const based = await outputOf(`openapi check ${yaml} --config ${table} --base-path /v1`, 1);
    expect(based).toContain("GET /v1/agents");
  });

  it("imports the clear rules of a document, requires a token for the others, and lists them", async () => {
    const components = { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } };
    const paths = {
      "/a": get({}),
      "/c?d": get({ security: [] }),
      "/e": get({ security: [{ bearer: ["e:read"] }] }),
      "/f": get({ security: [{ bearer: ["f read", "f:"] }] }),
    };
    const file = api(paths, { components });
    const imported = await scopegate(`openapi import ${file}`);
    expect(imported.code).toBe(0);
    expect(JSON.parse(imported.out)).toEqual({
      default_scope_mappings: {},
      scope_mappings: { "GET /a": [], "GET /e": ["e:read"], "GET /f": [] },
    });
    for (const note of [
      "Check the rules of 3 operations",
      '  GET /f "f read" is a scope that no token can have. Its rule is []: any valid token.\n',
      '  GET /f "f:" is a scope that no token can have. Its rule is []: any valid token.\n',
      "  GET /a has no `security`. Its rule is []: any valid token.\n",
    ])
      expect(imported.notes).toContain(note);
    expect(imported.notes).toMatch(/^ {2}GET \/c\?d .* It has no rule\.$/m);
    const opened = await jsonOf(`openapi import ${file} --missing-security public`);
    expect(opened).toHaveProperty(["scope_mappings", "GET /a"], "public");
    const { notes } = await scopegate(`openapi import ${api({ "/a": get({}) })}`);
    expect(notes).toContain("Check the rules of 1 operation,");
  });
});

describe("scopegate page", () => {
  it("prints a page with the table, the roles and the audit, as it is", async () => {
    const all = { nobody: "anonymous", member: { scopes: ["agents:read"], claims: { org_id: "acme" } } };
    const line = `page --app ${appOf("express.ts")} --roles ${fileOf(all)} --title Agents`;
    const html = await outputOf(line);
    expect(html).toMatch(/^<!doctype html>/i);
    for (const part of ["Agents", JSON.stringify(Object.entries(all)), "2 routes, 1 with a rule"])
      expect(html).toContain(part);
    expect(await jsonOf(`${line} --json`)).toEqual({ html });
    await outputOf(`page --config ${agents}`);
  });
});

describe("scopegate revoke", () => {
  const app = fileOf(
    `import { createResourceServer } from ${urlOf("index.ts")};
import { inMemoryRevocation } from ${urlOf("stores/revocation/index.ts")};
const store = inMemoryRevocation();
const revoke = (target, options, context) => (globalThis.revokedEntries.push({ ...target, ...options, principal: context.principal }), store.revoke(target, options, context));
const unrevoke = ({ userId }) => Promise.resolve(userId === "u1");
export const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [${JSON.stringify(issuer.publicPem)}], revocation: { ...store, revoke, unrevoke } });
`,
    "server.mjs",
  );

  /** Runs the command, and returns what it prints and the entries that it adds. */
  async function revoke(args: string, code = 0, input = "") {
    const entries: unknown[] = [];
    Reflect.set(globalThis, "revokedEntries", entries);
    const out = await outputOf(`revoke --app ${app} ${args}`, code, { input });
    return { out, entries };
  }

  const ISSUER = "https://a.example/";
  const NOON = "2024-01-31T12:00:00Z";

  it.each<[args: string, entry: object]>([
    ["--user u1", { userId: "u1" }],
    [`--user u1 --before ${NOON}`, { userId: "u1", before: new Date(NOON) }],
    [`--session s1 --issuer ${ISSUER}`, { sessionId: "s1", issuer: ISSUER }],
    [`--issuer ${ISSUER} --reason 'stolen key'`, { issuer: ISSUER, reason: "stolen key" }],
    ["--client c1", { clientId: "c1" }],
    ["--token-id t1", { tokenId: "t1" }],
  ])("adds an entry for %s to the store of the server", async (args, entry) => {
    expect(await revoke(args)).toMatchObject({ out: "Revoked.\n", entries: [entry] });
  });

  it("withdraws a revocation, or reports that there is none", async () => {
    expect(await revoke("--user u1 --undo")).toEqual({ out: "Withdrawn.\n", entries: [] });
    const out = "There is no revocation of this target.\n";
    expect(await revoke("--user u2 --undo", 1)).toEqual({ out, entries: [] });
  });

  it("reads a token from the standard input only, and revokes none that isn't accepted", async () => {
    const token = await issuer.token({ jti: "t9", exp: Math.floor(Date.now() / 1000) + 100 });
    expect(await revoke("--token -", 0, `${token}\n`)).toMatchObject({
      entries: [{ principal: { tokenId: "t9" } }],
    });
    for (const given of [token, "t9"]) {
      const notes = await mistakesOf(`revoke --app ${app} --token ${given}`);
      expect(notes).toMatch(/--token takes only `-`|write --token -, and pass/);
      expect(notes).not.toContain(token);
    }
    const out = "The token isn't accepted anyway: expired.\n";
    expect(await revoke("--token -", 1, await issuer.token({ exp: 1 }))).toEqual({ out, entries: [] });
  });

  it.each([
    ["--session s1 --before 2024-01-31", "Write one of"],
    ["--token-id t1 --until 2090-01-01", "keepSeconds"],
  ])("shows the mistakes of the server for %s", async (args, fix) => {
    Reflect.set(globalThis, "revokedEntries", []);
    expect(await mistakesOf(`revoke --app ${app} ${args}`)).toContain(fix);
  });
});
