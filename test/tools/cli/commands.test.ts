import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
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
const CONTROL = /[^\P{C}\n]|\p{Zl}/u;
const keyFile = () => join(folder, `key-${Math.random()}.pem`);

describe("scopegate", () => {
  it("lists every command, and shows the help of each with examples", async () => {
    const overview = await outputOf([]);
    for (const { name, summary, options } of commands) {
      expect(overview).toContain(`${name.padEnd(8)} ${summary}`);
      const help = await outputOf([name, "--help"]);
      expect(help).toContain("Examples:\n  scopegate");
      for (const option of Object.keys(options)) expect(help).toContain(`--${option}`);
      expect(await outputOf(`help ${name}`)).toBe(help);
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

  it("rejects wrong usage with every mistake and its fix", async () => {
    const notes = await mistakesOf("token --scop a:b --expires 5y --claim x --jwks=1 --aud --sub a --sub b");
    for (const mistake of [
      "`token` has no option `--scop`. Did you mean `--scope`?",
      "--expires takes a number and a unit: 30s, 15m, 1h or 7d.",
      "--claim takes a name and a value: write --claim name=value.",
      "--jwks takes no value: write --jwks.",
      "--aud needs a value. If the value begins with -, write --aud=NAME.",
    ])
      expect(notes).toContain(mistake);
    expect(await mistakesOf("routs")).toContain("Unknown command `routs`. Did you mean `routes`?");
    const twice = await mistakesOf("routes --config a.json --config b.json extra");
    expect(twice).toContain("--config is written twice: write it once.");
    expect(twice).toContain("`extra` is one argument too many: write scopegate routes");
    expect(await mistakesOf("explain GET")).toContain(
      "scopegate: PATH is missing: write scopegate explain METHOD PATH.\n",
    );
    expect(await mistakesOf("explain")).toContain("METHOD and PATH are missing: write");
    expect(await mistakesOf("routes --config=")).toContain("--config needs a value: write --config FILE.");
  });

  it("reports files that are absent, invalid JSON or ambiguous", async () => {
    const notesOf = (path: string) => mistakesOf(`routes --config ${path}`);
    expect(await notesOf("no.json")).toContain("`no.json` can't be read.");
    expect(await notesOf(fileOf("{,}"))).toContain("isn't valid JSON");
    expect(await notesOf(fileOf("[]"))).toContain("must contain a JSON object");
    expect(await notesOf(fileOf('{"GET /x":["a:b"],"GET /x":"public"}'))).toContain("one name twice");
    const wrong = await notesOf(fileOf({ scop_mappings: {}, admin_scope: 1 }));
    expect(wrong.trim().split("\n")).toHaveLength(2);
    expect(wrong).toContain("Did you mean `scope_mappings`?");
  });

  it("prints no control characters of foreign strings", async () => {
    const config = fileOf({ "GET /x": ["a:b"] });
    const path = "/\u001b[31mred\u2028";
    expect(await outputOf(["explain", "GET", path, "--config", config], 1)).not.toMatch(CONTROL);
    const json = await outputOf(["explain", "GET", path, "--config", config, "--json"], 1);
    expect(json).not.toMatch(CONTROL);
    expect(JSON.parse(json)).toMatchObject({ path });
    const app = fileOf(`throw new Error("\u001b]0;title\u0007")`, "app.mjs");
    expect(await mistakesOf(`routes --app ${app}`)).not.toMatch(CONTROL);
  });
});

describe("scopegate token", () => {
  it("prints only a token to a pipe, and how to accept it to a terminal", async () => {
    const key = keyFile();
    const args = ["token", "--scope", "agents:web:read", "--sub", "u1", "--expires", "1h", "--key", key];
    const first = await scopegate(args);
    expect(first.out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(first.notes).toBe(`scopegate: created ${key}. It's only for development: don't commit it.
`);
    const piped = await scopegate(args);
    expect(piped.notes).toBe("");
    const { notes } = await scopegate(args, { isTerminal: true });
    const [, list = ""] = /"verification_keys": (\[.*\])/.exec(notes) ?? [];
    const server = createResourceServer({
      verificationKeys: JSON.parse(list) as string[],
      verifyAudience: false,
    });
    const principal = await server.authenticate(piped.out.trim());
    expect(principal).toMatchObject({ userId: "u1", scopes: ["agents:web:read"], audience: [] });
    expect(principal.expiresAt).toBeGreaterThan(Date.now() / 1000 + 3500);
    const pem = await outputOf(`token --public-key --key ${key}`);
    expect(JSON.parse(list)).toEqual([pem.trim()]);
    const jwks = await outputOf(`token --jwks --key ${key}`);
    expect(jwks).not.toMatch(/"d"|"p"/);
    const jwksServer = createResourceServer({ keys: { jwksFile: fileOf(jwks) }, verifyAudience: false });
    expect((await jwksServer.authenticate(piped.out.trim())).userId).toBe("u1");
  });

  it("binds a token to a key, and prints a curl command whose proof a server accepts once", async () => {
    const args = ["token", "--dpop", "--request", "POST https://api.example/a?b=1", "--key", keyFile()];
    const { token, proof, verification_key } = (await jsonOf([...args, "--json"])) as Record<string, string>;
    const server = createResourceServer({
      verificationKeys: [verification_key ?? ""],
      verifyAudience: false,
      senderConstraint: { dpop: { origins: ["https://api.example"] } },
      scopeMappings: { "POST /a": [] },
    });
    const request = { method: "POST", target: "/a?b=1", authorization: `DPoP ${token}` };
    const sent = { ...request, headers: { dpop: proof } };
    expect(await server.check(sent)).toMatchObject({ allowed: true });
    expect(await server.check(sent)).toMatchObject({ proofRejection: "replayed" });
    const [first, curl] = (await outputOf(args)).trim().split("\n");
    expect(first).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(curl).toMatch(/^curl --globoff -X POST -H 'Authorization: DPoP \S+' -H 'DPoP: \S+' 'https:.*'$/);
  });

  it.each([
    ["--request 'GET http://localhost/'", ["--request", "GET http://localhost/"], "--request needs --dpop."],
    ["a lower-case method", ["--dpop", "--request", "get http://localhost/"], "upper case"],
    ["a quote in the URL", ["--dpop", "--request", "GET http://localhost/'"], "without spaces and quotes"],
    ["its own cnf", ["--dpop", "--claim", 'cnf={"jkt":"x"}'], "--dpop writes the claim cnf"],
    ["--public-key", ["--dpop", "--public-key"], "can't be combined"],
  ])("rejects %s", async (_name, args, mistake) => {
    const notes = await mistakesOf(["token", ...args, "--key", keyFile()]);
    expect(notes).toContain(mistake);
  });

  it("signs a token that fits the configuration, with additional claims", async () => {
    const key = keyFile();
    const config = {
      service_id: "agents-prod",
      issuer: "https://a.example",
      algorithm: "ES256",
      scopes_claim: "scp",
    };
    const claims = ["--claim", "tenant=t1", "--claim", "level=3", "--claim", "nonce=null"];
    const args = ["token", "--config", fileOf(config), "--key", key, "--scope", "a:b"];
    const signed = await jsonOf([...args, ...claims, "--json"]);
    const { token, verification_key } = signed as { token: string; verification_key: string };
    const server = createResourceServer(
      parseConfiguration({ ...config, verification_keys: [verification_key] }),
    );
    expect(await server.authenticate(token)).toMatchObject({
      scopes: ["a:b"],
      issuer: "https://a.example",
      claims: { tenant: "t1", level: 3, nonce: null },
    });
    const secret = ["token", "--config", fileOf({ ...config, algorithm: "HS256" })];
    expect(await mistakesOf(secret)).toContain("token creates no secrets for HS256");
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

  it("refuses production, other modes, links and folders", async () => {
    const key = keyFile();
    await mistakesOf(`token --key ${key}`, { env: { NODE_ENV: "production" } });
    expect(existsSync(key)).toBe(false);
    await outputOf(`token --key ${key}`);
    const link = keyFile();
    symlinkSync(key, link);
    expect(await mistakesOf(`token --key ${link}`)).toContain("is a symbolic link");
    const dangling = keyFile();
    symlinkSync(join(folder, "absent.pem"), dangling);
    await mistakesOf(`token --key ${dangling}`);
    expect(existsSync(join(folder, "absent.pem"))).toBe(false);
    chmodSync(key, 0o640);
    expect(await mistakesOf(`token --key ${key}`)).toContain("run chmod 600");
    await mistakesOf(`token --key ${folder}`);
    expect(await mistakesOf(`token --key ${join(folder, "no/key.pem")}`)).toContain("can't be written");
  });
});

describe("a configuration with bound tokens", () => {
  const payments = { scopes: ["payments:write"], sender_constrained: true };
  const table = { "POST /payments": payments };
  const config = fileOf({
    sender_constraint: { dpop: { origins: ["https://api.example"] }, required: true },
    scope_mappings: table,
    default_scope_mappings: {},
  });
  const ask = (file: string, ...args: readonly string[]) => [
    ...["explain", "POST", "/payments", "--config", file, "--scope", "payments:write"],
    ...args,
  ];

  it.each([
    ["a configuration without keys", config],
    ["a table alone", fileOf(table)],
  ])("explains %s, for callers with and without a key", async (_name, file) => {
    expect(await outputOf(ask(file), 1)).toContain("proof_missing");
    expect(await outputOf(ask(file, "--claim", 'cnf={"jkt":"x"}'))).toContain("allowed");
    expect(await outputOf(["lint", "--config", file])).not.toContain("error");
    expect(await outputOf(["routes", "--config", file])).toContain("/payments");
  });
});

describe("scopegate explain", () => {
  it("explains a request by a table alone, with exit code 1 for a refusal", async () => {
    const args = `explain POST /agents/web/runs --config ${agents} --scope`;
    expect(await outputOf(`${args} agents:web:run`)).toContain("decision   allowed");
    const refused = await outputOf(`${args} agents:api:run`, 1);
    expect(refused).toContain("missing    agents:web:run");
    expect(refused).toContain("response   403");
    expect(await jsonOf(`explain GET /agents --config ${agents} --json`, 1)).toMatchObject({
      allowed: false,
      reason: "credential_missing",
    });
  });

  it("adds a base table to a configuration only, and needs one of the two", async () => {
    const routesOf = async (config: object) => {
      const listed = await jsonOf(["routes", "--config", fileOf(config), "--json"]);
      return (listed as { rules: { key: string }[] }).rules.map(({ key }) => key);
    };
    const table = { "GET /x": ["x:read"] };
    expect(await routesOf(table)).toEqual(["GET /x"]);
    expect(await routesOf({ scope_mappings: table })).toEqual([...Object.keys(agentScopeMappings), "GET /x"]);
    expect(await routesOf({ scope_mappings: table, default_scope_mappings: {} })).toEqual(["GET /x"]);
    for (const command of ["routes", "page", "explain GET /agents", "openapi check api.yaml"])
      expect(await mistakesOf(command)).toContain("No table is given: add --config FILE");
  });

  it("explains a caller with a token without scopes", async () => {
    const args = ["explain", "GET", "/agents", "--json", "--config", agents, "--scope"];
    expect(await jsonOf([...args, ""], 1)).toMatchObject({ reason: "scope_insufficient" });
    await outputOf([...args, "", "--scope", "agents:read"]);
    expect(await outputOf(args, 2)).toContain("--scope needs a value");
  });

  it("says what --route would change", async () => {
    const explain = (path: string) => `explain GET ${path} --config ${agents} --scope agents:read`;
    expect(await outputOf(explain("/Agents"), 1)).toContain("With --route PATTERN, the rule for the route");
    expect(await outputOf(`${explain("/Agents")} --route /agents`)).not.toContain("--route");
    expect(await outputOf(explain("/agents"))).not.toContain("--route");
    const { notes } = await scopegate(explain("/agents"), { isTerminal: true });
    expect(notes).toContain("Without --route: only the path");
    expect(notes).not.toContain("would be added");
    const table = fileOf({ "GET /agents/me": [], "GET /agents/:id": ["agents:<id>:read"] });
    const more = await scopegate(`explain GET /agents/me --config ${table} --scope x:y`, {
      isTerminal: true,
    });
    expect(more.notes).toContain("With --route `/agents/:id`, `GET /agents/:id` would be added.");
  });

  it("explains an operation with its arguments, or without its own rule, as the server decides it", async () => {
    const config = fileOf({
      "MCP tools/list": ["tools:list"],
      "MCP tools/call search": ["agents:<agent_id>:run"],
      "MCP resources/read docs://a": ["docs:read"],
    });
    const explain = (operation: string, scope: string) => [
      ...["explain", "MCP", operation],
      ...["--config", config, "--scope", scope],
    ];
    const search = [...explain("tools/call search", "agents:web:run"), "--arg"];
    await outputOf([...search, "agent_id=web"]);
    await outputOf([...search, "agent_id=api"], 1);
    expect(await mistakesOf(explain("tools/cal search", "a:b"))).toContain("tools/call");
    expect(await outputOf(explain("tools/list", "tools:list"))).toContain("decision   allowed");
    expect(await outputOf(explain("prompts/list", "tools:list"), 1)).toContain("refused: route_unmapped");
    const subscribe = await outputOf(explain("resources/subscribe docs://a", "docs:read"));
    expect(subscribe).toContain("rule       MCP resources/read docs://a");
    expect(await outputOf(explain("tools/call", "tools:list"), 1)).toMatch(
      /refused: request_ambiguous[^]*response {3}400/,
    );
    for (const method of ["initialize", "ping", "notifications/initialized"])
      expect(await mistakesOf(explain(method, "tools:list"))).toContain("Write scopegate explain POST /mcp.");
  });

  it("decides by the route that the framework matched, with and without a token", async () => {
    const config = fileOf({ ...keyed, scope_mappings: { "GET /agents/me": ["self:read"] } });
    const args = ["explain", "--config", config, "GET"];
    const input = await issuer.token({ scopes: ["self:read"], aud: "agents-prod" });
    for (const caller of [
      ["--scope", "self:read"],
      ["--token", "-"],
    ]) {
      const ask = (code: number, path: string, ...more: readonly string[]) =>
        outputOf([...args, path, ...caller, ...more], code, { input });
      expect(await ask(1, "/AGENTS/me")).toContain("request_ambiguous");
      await ask(0, "/AGENTS/me", "--route", "/agents/me");
      const parameter = await ask(1, "/agents/me", "--route", "/agents/:agent_id", "--json");
      expect(JSON.parse(parameter)).toMatchObject({
        matchedPattern: "/agents/:agent_id",
        missing: ["agents:me:read"],
      });
    }
    for (const wrong of ["GET /agents/:id", "agents/:id", "/agents/:id("])
      expect(await mistakesOf([...args, "/agents/me", "--route", wrong])).toContain(
        "--route takes the pattern of a route: write --route '/agents/:id'.",
      );
    const operation = ["explain", "MCP", "tools/call search", "--route", "/mcp"];
    expect(await mistakesOf(operation)).toContain("--route can't be combined with MCP");
  });

  it("needs keys for a token only", async () => {
    const config = fileOf({ service_id: "a", keys: { jwks_file: "/nowhere/keys.json" } });
    const args = ["explain", "GET", "/agents", "--config", config];
    await outputOf([...args, "--scope", "agents:read"]);
    expect(await mistakesOf([...args, "--token", "-"])).toContain("can't be read");
    const keyless = fileOf({ service_id: "agents-prod" });
    const notes = await mistakesOf(`explain GET /agents --token - --config ${keyless}`);
    expect(notes).toMatch(/verification_keys: is missing\.[^]*as `verification_keys` or `keys`\./);
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
  ])(
    "shows why a token with %j is rejected, and no unrelated value of it",
    async (claims, rejection, lines) => {
      const input = await issuer.token({
        scopes: ["agents:read"],
        aud: "agents-prod",
        secret: "canary-value",
        ...claims,
      });
      const args = ["explain", "GET", "/agents", "--config", fileOf(keyed), "--token", "-"];
      const { code, out, notes } = await scopegate(args, { input: `Bearer ${input}\n` });
      expect(code).toBe(1);
      for (const line of [`refused: token_rejected (${rejection})`, ...lines]) expect(out).toContain(line);
      expect(out + notes).not.toContain("canary-value");
      expect(out + notes).not.toContain(input.slice(0, 20));
    },
  );

  it("shows the kid of a token that no key verifies, and the known ones", async () => {
    const other = createIssuer({ kid: "2025" });
    const input = await other.token({ scopes: ["agents:read"], aud: "agents-prod" });
    const keys = { jwks: setOf(createIssuer({ kid: "2026" })) };
    const config = fileOf({ service_id: "agents-prod", keys });
    const args = ["explain", "GET", "/agents", "--config", config, "--token", "-"];
    const out = await outputOf(args, 1, { input });
    expect(out).toContain("token_rejected (key)");
    expect(out).toContain("because    expected kid: 2026\n");
    expect(out).toContain('found      kid: "2025", alg: "RS256"\n');
  });

  it("accepts a good token of the configuration or of the application", async () => {
    const input = await issuer.token({ scopes: ["agents:read"], aud: "agents-prod" });
    const args = "explain GET /agents --token -";
    for (const from of [`--config ${fileOf(keyed)}`, `--app ${appOf("server.ts")}`])
      await outputOf(`${args} ${from}`, 0, { input });
  });

  it("fetches no keys after its answer", async () => {
    const input = await issuer.token({ scopes: ["agents:read"], aud: "agents-prod" });
    const config = fileOf({ keys: { jwks_uri: "https://127.0.0.1:1/keys" }, service_id: "agents-prod" });
    const { run, count } = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const args = `explain GET /agents --token - --config ${config}`;
      expect(await run(() => outputOf(args, 1, { input }))).toContain("keys_unavailable");
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

  it("hides a token that was written as an argument", async () => {
    const token = await issuer.token({ scopes: ["agents:read"] });
    for (const args of [
      ["GET", "/agents", "--token", token],
      ["GET", "/agents", token],
      ["GET", "/agents", `--token=${token}`],
      ["GET", "/agents", "--scope", token],
      ["GET", token],
      [token, "/agents"],
      ["GET", "/agents", "--tokn", token],
      ["GET", "/agents", "--config", token],
    ]) {
      const { code, out, notes } = await scopegate(["explain", ...args]);
      expect(code).toBe(2);
      expect(out + notes).not.toContain(token.slice(10, 40));
    }
    expect((await scopegate([token])).notes).not.toContain(token.slice(10, 40));
    const opaque = "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz";
    const typed = await scopegate(["explain", "GET", "/agents", "--token", opaque, opaque]);
    expect(typed.out + typed.notes).not.toContain(opaque);
    expect(typed.notes).toContain("--token takes only `-`");
  });
});

describe("scopegate audit", () => {
  it.each(["express.ts", "router.ts", "fastify4.ts", "nest.ts"])(
    "finds the route without a rule in %s",
    async (app) => {
      const { code, out, notes } = await scopegate(["audit", "--app", appOf(app)]);
      expect([code, notes]).toEqual([1, ""]);
      expect(out).toContain("`DELETE /agents/:agent_id` has no rule");
      expect(out).toContain("2 routes, 1 with a rule; 1 error");
    },
  );

  it("accepts the server of a configuration, warnings, and intended open rules", async () => {
    const args = ["audit", "--app", appOf("express.ts"), "--config"];
    const config = fileOf({
      scope_mappings: {
        "DELETE /agents/:agent_id": ["agents:<agent_id>:delete"],
        "GET /{*path}": "public",
      },
    });
    expect(await outputOf([...args, config], 1)).toContain("public_catch_all");
    await outputOf([...args, config, "--public-catch-all", "GET /{*path}"]);
    const weak = fileOf({ scope_mappings: { "* /{*path}": [] } });
    await outputOf([...args, weak]);
    await outputOf([...args, weak, "--warnings"], 1);
    const wrong = [...args, weak, "--public-catch-all", "GET /"];
    expect(await mistakesOf(wrong)).toContain("takes the key of a rule");
  });

  it("lists the routes of a mounted Express application that the module names", async () => {
    const code = (names: string) => `import express from "express";
      const app = express();
      const admin = express().get("/users", (request, response) => response.end());
      app.use("/admin", admin);
      export { ${names} };`;
    const table = ["--config", fileOf('{ "GET /admin/users": ["users:read"] }')];
    const unnamed = ["audit", ...table, "--app", fileOf(code("app"), "unnamed.mjs")];
    expect(await mistakesOf(unnamed)).toContain("can't look into the application that is mounted at /admin");
    const admin = code("app, mounted").replace("app.use", "const mounted = [admin];\n      app.use");
    const { out } = await scopegate(["audit", ...table, "--app", fileOf(admin, "named.mjs")]);
    expect(out).toContain("1 route, with a rule");
    expect(out).not.toContain("rule_unreached");
  });

  it("fails for an application without protect, unless another guard is declared", async () => {
    const app = fileOf(
      `import express from "express";
      export const app = express().get("/users", (request, response) => response.end());`,
      "gateway.mjs",
    );
    const args = ["audit", "--app", app, "--config", fileOf('{ "GET /users": ["users:read"] }')];
    expect(await outputOf(args, 1)).toContain("error guard_missing: the application has no protect");
    expect(await outputOf([...args, "--guarded-elsewhere", "/{*path}"])).toContain("1 route, with a rule");
    expect(await outputOf([...args, "--guarded-elsewhere", "/other"], 1)).toContain("guard_missing");
  });

  it("lists a folder app of Next.js, with the configuration above it", async () => {
    const table = fileOf({ "GET /admin": ["admin:use"], "GET /teams{/*path}": "public" });
    const files = { "src/app/admin/page.tsx": "", "src/proxy.ts": proxy(), "package.json": "{}" };
    const argsOf = (more: Readonly<Record<string, string>>) => {
      const project = dirname(nextFolder({ ...files, ...more }));
      return ["audit", "--config", table, "--app", join(project, "src/app")];
    };
    const rewrites = `async () => [{ source: "/teams/:path*", destination: "/:path*" }]`;
    const config = `export default { rewrites: ${rewrites} };`;
    const opened = "rewrite_weaker: the rewrite `/teams/:path*` -> `/:path*` opens a route";
    expect(await outputOf(argsOf({ "next.config.mjs": config }), 1)).toContain(opened);
    expect(await outputOf(argsOf({ "src/next.config.mjs": config }), 1)).toContain(opened);
    const without = await outputOf(argsOf({}), 1);
    expect(without).not.toContain("rewrite_weaker");
    expect(without).toContain("1 route, with a rule");
    const broken = await mistakesOf(argsOf({ "next.config.mjs": 'throw new Error("no database");' }));
    expect(broken).toContain("can't be loaded: no database");
    // Node.js 20 can't load TypeScript.
    const typed = await mistakesOf(argsOf({ "next.config.ts": "throw new Error();" }));
    expect(typed).toContain("write `node --import tsx node_modules/scopegate/dist/cli.js` instead");
  });

  it("explains what a module must export", async () => {
    const notesOf = (code: string, name = "app.mjs") => mistakesOf(["audit", "--app", fileOf(code, name)]);
    expect(await notesOf("export const x = 1;")).toContain("exports neither");
    expect(await notesOf("export const routes = [];")).toContain("exports no resource server");
    expect(await notesOf("nonsense(")).toContain("can't be loaded");
    expect(await notesOf("throw null")).toContain("can't be loaded");
    const inUse = `throw Object.assign(new Error("listen EADDRINUSE"), { code: "EADDRINUSE" });`;
    expect(await notesOf(inUse)).toContain("listen EADDRINUSE. Set PORT=0");
    expect(await mistakesOf("audit")).toContain("write --app ./app.js");
    expect(await mistakesOf(`audit --app ${appOf("server.ts")}`)).toContain("needs the routes");
    expect(await mistakesOf("audit --app absent.ts")).toContain("node --import tsx");
  });

  it("shows where a module and its causes failed, without their stacks", async () => {
    const failing = fileOf(
      `function connect() {
  const cause = new TypeError("bad port");
  throw new Error("no database", { cause });
}
connect();`,
      "failing.mjs",
    );
    const { code, out, notes } = await scopegate(["audit", "--app", failing]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    const place = (column: string) => `  at ${failing}:${column}`;
    expect(notes.replaceAll("file://", "").split("\n")).toEqual([
      expect.stringMatching(/^scopegate: .* can't be loaded: no database$/),
      expect.stringContaining(place("3:")),
      "Caused by: TypeError: bad port",
      expect.stringContaining(place("2:")),
      "",
    ]);
  });

  it("shows the place in the application for an error in a package or in Node.js, and no place of the program", async () => {
    const noteOf = async (code: string) =>
      (await scopegate(["audit", "--app", fileOf(code, "app.mjs")])).notes;
    const inPackage = await noteOf(`import express from "express";\n\nexpress().use();`);
    expect(inPackage).toMatch(/^ {2}at \S+app\.mjs:3:\d+$/m);
    expect(inPackage).not.toContain("node_modules");
    expect(await noteOf(`import "node:fs";\nnew URL("wrong");`)).toMatch(/^ {2}at \S+app\.mjs:2:/m);
    const silent = `const error = new Error("", { cause: null }); error.stack = undefined; throw error;`;
    expect(await noteOf(silent)).toMatch(/^scopegate: .* can't be loaded: Error\n$/);
    const refused = `throw Object.assign(new Error(""), { code: "ECONNREFUSED" });`;
    expect(await noteOf(refused)).toContain("can't be loaded: ECONNREFUSED\n");
    const circle = `const error = new Error("round"); error.stack = undefined; error.cause = error; throw error;`;
    expect(await noteOf(circle)).toMatch(/round\n(?:Caused by: Error: round\n){4}$/);
  });

  it("adds exported routes, also as a promise, to those of an application, or reads them alone", async () => {
    const express = JSON.stringify(appOf("express.ts"));
    const app = fileOf(
      `export { app, server } from ${express}; export const routes = Promise.resolve([{ method: "GET", pattern: "/own" }]);`,
      "both.mjs",
    );
    const out = await outputOf(`audit --app ${app}`, 1);
    expect(out).toContain("`DELETE /agents/:agent_id` has no rule");
    expect(out).toContain("`GET /own` has no rule");
    const alone = fileOf(`export const routes = [{ method: "GET", pattern: "/agents" }];`, "routes.mjs");
    await outputOf(["audit", "--app", alone, "--config", fileOf({})]);
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
});

describe("scopegate matrix", () => {
  const roles = fileOf({ nobody: "anonymous", reader: ["agents:read"] });
  const config = fileOf({
    default_scope_mappings: {},
    scope_mappings: { "GET /a": ["agents:read"], "GET /b": [] },
  });
  const args = ["matrix", "--roles", roles, "--config", config];

  it("shows who may call what, writes it as a snapshot, and accepts that in any padding", async () => {
    const snapshot = join(folder, "access.md");
    expect(await mistakesOf([...args, "--check", snapshot])).toContain("add --write to create it");
    const created = await scopegate([...args, "--check", snapshot, "--write"], { isTerminal: true });
    expect(created.notes).toMatch(/^The new snapshot is in `.*access\.md`\.\n$/);
    expect(created.out).toBe(`| route  | role   | result             |
| ------ | ------ | ------------------ |
| GET /a | nobody | credential_missing |
| GET /a | reader | allowed            |
| GET /b | nobody | credential_missing |
| GET /b | reader | allowed            |
`);
    expect(readFileSync(snapshot, "utf8")).toBe(created.out);
    writeFileSync(snapshot, `# Access\n\n${created.out.replaceAll("  ", " ")}`);
    await outputOf([...args, "--check", snapshot]);
  });

  it("shows what has changed, which fails unless the snapshot is written again", async () => {
    const snapshot = fileOf("", "access.md");
    const check = ["matrix", "--roles", roles, "--check", snapshot, "--config"];
    await outputOf([...check, fileOf({ "GET /a": ["agents:read"] }), "--write"]);
    const changed = [...check, fileOf({ "GET /a": "public", "GET /b": [] })];
    const out = [
      "+ GET /a | nobody | allowed",
      "- GET /a | nobody | credential_missing",
      "+ GET /b | nobody | credential_missing",
      "+ GET /b | reader | allowed\n",
    ].join("\n");
    const failed = await scopegate(changed, { isTerminal: true });
    expect(failed).toMatchObject({ code: 1, out, notes: expect.stringContaining("--write") as string });
    expect(await scopegate([...changed, "--write"], { isTerminal: true })).toMatchObject({ code: 0, out });
    expect(readFileSync(snapshot, "utf8")).toContain("| GET /a | nobody | allowed");
    expect(await jsonOf([...changed, "--write", "--json"])).toMatchObject({ changes: [] });
  });

  it("does not overwrite a file that contains anything but one table", async () => {
    const snapshot = fileOf("", "access.md");
    await outputOf([...args, "--check", snapshot, "--write"]);
    const table = readFileSync(snapshot, "utf8");
    const notes = fileOf("# Notes\n\n| route | meaning |\n| ----- | ------- |\n", "notes.md");
    expect(await mistakesOf([...args, "--check", notes])).toContain("contains no access table");
    const others = [`# Access\n\n${table}`, `${table}\nSee also the audit.\n`, `${table}\n${table}`];
    for (const text of [...others, `${table}\n| team | lead |\n| ---- | ---- |\n`, "| a |\n"]) {
      writeFileSync(snapshot, text);
      expect(await mistakesOf([...args, "--check", snapshot, "--write"]), text).toMatch(
        /contains (?:other text than an access table: keep the snapshot in|no access table)/,
      );
      expect(readFileSync(snapshot, "utf8")).toBe(text);
    }
    for (const text of [`\n${table}\n\n`, table.replaceAll("\n", "\r\n"), table.replaceAll("  ", " ")]) {
      writeFileSync(snapshot, text);
      await outputOf([...args, "--check", snapshot, "--write"]);
      expect(readFileSync(snapshot, "utf8")).toBe(table);
    }
  });

  it("lists rules for which no path was found, and rejects wrong roles", async () => {
    const hidden = fileOf({ "GET /a/:id": ["a:read"], "GET /a/me": [] });
    const shown = await scopegate(`matrix --roles ${roles} --config ${hidden} --param id=me`);
    expect(shown.out).toMatch(/^\| GET \/a\/:id +\| every role \| no path found/m);
    expect(await mistakesOf("matrix")).toContain("matrix needs roles");
    expect(await mistakesOf(["matrix", "--roles", fileOf({ x: [1] })])).toContain("an array of scopes");
    expect(await mistakesOf([...args, "--write"])).toContain("--write needs --check");
    const absent = join(folder, "no/x.md");
    expect(await mistakesOf([...args, "--check", absent, "--write"])).toContain("can't be written");
  });
});

describe("the base table of a configuration file", () => {
  const linesOf = async (json: object) => {
    const config = fileOf({ ...keyed, ...json });
    const roles = fileOf({ reader: ["agents:read"] });
    const lines = ["lint", "routes", `matrix --roles ${roles}`, "page"].map(async (command) => {
      const { out, notes } = await scopegate(`${command} --config ${config}`);
      return `${out}${notes}`
        .split("\n")
        .find((text) => text.includes("from the base table of the interface"));
    });
    return Promise.all(lines);
  };

  it.each<readonly [object, string]>([
    [{}, "12 rules and the admin scope platform:admin come"],
    [{ admin_scope: null, scope_mappings: { "GET /agents": ["agents:list"] } }, "11 rules come"],
  ])("is named with how to leave it out, in one line: %j", async (json, start) => {
    for (const line of await linesOf(json)) {
      expect(line).toContain(start);
      expect(line).toMatch(/write \\?"default_scope_mappings\\?": \{\} in the file/);
    }
  });

  it.each([{}, { "GET /agents": ["agents:list"] }])("isn't named if the file has one: %j", async (table) => {
    expect(await linesOf({ default_scope_mappings: table })).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("scopegate lint", () => {
  it("finds the same in the options of a server in code, by their names there", async () => {
    const source = JSON.stringify(new URL("../../../src/complete/index.ts", import.meta.url).href);
    const lintServer = (options: object, ...args: readonly string[]) => {
      const server = `createResourceServer(${JSON.stringify(options)})`;
      const code = `import { createResourceServer } from ${source};\nexport const server = ${server};`;
      return ["lint", "--app", fileOf(code, "server.mjs"), ...args];
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
    const out = await outputOf(lintServer(parseConfiguration(weak)));
    expect(out).toBe(toCode(await outputOf(["lint", "--config", fileOf(weak)])));
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
    await outputOf(lintServer(parseConfiguration(weak), "--warnings"), 1);

    const keys = { jwksUri: "https://login.example/keys" };
    const shared = { serviceId: "a", requiredClaims: ["exp"], keys };
    const off = await outputOf(lintServer({ ...shared, authorization: false }));
    expect(off).toMatch(/^warning authorization is false[^]*^warning the issuer of a token isn't checked/m);
    const named = await outputOf(lintServer({ ...shared, issuer: "https://login.example/" }));
    expect(named).toBe("The configuration has no mistakes.\n");
    const issuers = [{ issuer: "https://a.example", keys, algorithms: ["RS256"] }];
    expect(await outputOf(lintServer({ serviceId: "a", issuers }))).toBe(
      'warning https://a.example: a token without `exp` never expires. Write `requiredClaims: ["exp"]`.\n',
    );
  });

  it("needs a configuration or a server, and says how to pass the file", async () => {
    const table = fileOf({ "GET /x": ["a:b"] });
    expect(await mistakesOf("lint")).toContain("add --config FILE");
    expect(await mistakesOf(["lint", table])).toMatch(/one argument too many[^]*add --config FILE/);
    expect(await mistakesOf(`lint --app ${appOf("router.ts")} --config absent.json`)).toContain(
      "absent.json",
    );
  });

  it("accepts a good configuration, scope mappings alone, and an absent key file", async () => {
    const good = { ...keyed, default_scope_mappings: {}, required_claims: ["exp"] };
    expect(await outputOf(["lint", "--config", fileOf(good)])).toBe("The configuration has no mistakes.\n");
    await outputOf(["lint", "--config", fileOf({ "GET /x": ["a:b"] })]);
    const absent = fileOf({ service_id: "a", keys: { jwks_file: "absent.json" } });
    expect(await outputOf(`lint --config ${absent}`)).toContain("warning keys.jwks_file");
    await mistakesOf("lint --config absent.json");
  });
});

describe("docs/reference/command-line.md", () => {
  it("shows the help of every command", () => {
    const page = readFileSync("docs/reference/command-line.md", "utf8");
    for (const command of commands)
      expect(page).toContain(`## ${command.name}\n\n\`\`\`text\n${renderHelp(command)}\n\`\`\``);
  });
});

describe("scopegate openapi", () => {
  const api = (security?: unknown) => ({
    openapi: "3.1.0",
    info: { title: "Agents", version: "1" },
    paths: { "/agents": { get: { ...(security !== undefined && { security }), responses: {} } } },
  });
  const table = fileOf({ default_scope_mappings: {}, scope_mappings: { "GET /agents": ["agents:read"] } });

  it("writes a document that the check accepts, and that is imported as the same table", async () => {
    const plain = fileOf(api(), "api.json");
    expect(await outputOf(`openapi check ${plain} --config ${table}`, 1)).toContain("security_missing");
    const secured = fileOf(await outputOf(`openapi write ${plain} --config ${table}`), "secured.json");
    await outputOf(`openapi check ${secured} --config ${table}`);
    expect(await jsonOf(`openapi import ${secured}`)).toEqual(JSON.parse(readFileSync(table, "utf8")));
  });

  it("keeps YAML, takes a base path, and lists mistakes", async () => {
    const yaml = fileOf(
      "openapi: 3.0.3\ninfo: { title: a, version: '1' }\npaths:\n  /agents: { get: { responses: {} } }\n",
      "api.yaml",
    );
    expect(await outputOf(`openapi write ${yaml} --config ${table}`)).toMatch(/^openapi: /);
    const based = await outputOf(`openapi check ${yaml} --config ${table} --base-path /v1`, 1);
    expect(based).toContain("GET /v1/agents");
    expect(await mistakesOf(`openapi wrte ${yaml}`)).toContain("openapi takes write, check or import");
    const importWith = `openapi import ${yaml} --missing-security`;
    expect(await mistakesOf(`${importWith} error`)).toContain("has no `security`");
    expect(await mistakesOf(`${importWith} none`)).toContain('Write one of "authenticated"');
    await mistakesOf(["openapi", "check", fileOf("{}")]);
  });

  it("imports the clear rules of a document, requires a token for the others, and lists them", async () => {
    const get = (more: object) => ({ get: { responses: {}, ...more } });
    const document = {
      ...api(),
      components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
      paths: {
        "/a": get({}),
        "/c?d": get({ security: [] }),
        "/e": get({ security: [{ bearer: ["e:read"] }] }),
        "/f": get({ security: [{ bearer: ["f read", "f:"] }] }),
      },
    };
    const file = fileOf(JSON.stringify(document), "unclear.json");
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
    const single = fileOf(JSON.stringify({ ...document, paths: { "/a": get({}) } }), "one-unclear.json");
    expect((await scopegate(`openapi import ${single}`)).notes).toContain("Check the rules of 1 operation,");
  });
});

describe("scopegate page", () => {
  it("prints a page with the table, the roles and the audit, as it is", async () => {
    const roles = fileOf({ nobody: "anonymous", reader: ["agents:read"] });
    const args = ["page", "--app", appOf("express.ts"), "--roles", roles, "--title", "Agents"];
    const html = await outputOf(args);
    expect(html).toMatch(/^<!doctype html>/i);
    for (const part of ["Agents", "reader", "2 routes, 1 with a rule"]) expect(html).toContain(part);
    expect(await jsonOf([...args, "--json"])).toEqual({ html });
    expect(await mistakesOf(`page --config ${agents} --roles ${fileOf({})}`)).toContain("has no role");
    await outputOf(`page --config ${agents}`);
  });

  it("takes the roles of matrix: with claims, and without a token", async () => {
    const all = { nobody: "anonymous", member: { scopes: ["agents:read"], claims: { org_id: "acme" } } };
    const html = await outputOf(`page --config ${agents} --roles ${fileOf(all)}`);
    expect(html).toContain(JSON.stringify(Object.entries(all)));
  });
});

describe("scopegate revoke", () => {
  const app = () =>
    fileOf(
      `import { createResourceServer } from ${JSON.stringify(new URL("../../../src/index.ts", import.meta.url).href)};
import { inMemoryRevocation } from ${JSON.stringify(new URL("../../../src/stores/revocation/index.ts", import.meta.url).href)};
const store = inMemoryRevocation();
globalThis.revokedEntries = [];
const revoke = (target, options, context) => (globalThis.revokedEntries.push({ ...target, ...options, principal: context.principal }), store.revoke(target, options, context));
const unrevoke = ({ userId }) => Promise.resolve(userId === "u1");
export const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [${JSON.stringify(issuer.publicPem)}], revocation: { ...store, revoke, unrevoke } });
`,
      "server.mjs",
    );
  const entries = () => Reflect.get(globalThis, "revokedEntries") as unknown;

  it.each<readonly [readonly string[], object]>([
    [["--user", "u1"], { userId: "u1" }],
    [
      ["--user", "u1", "--before", "2024-01-31T12:00:00Z"],
      { userId: "u1", before: new Date("2024-01-31T12:00:00Z") },
    ],
    [
      ["--session", "s1", "--issuer", "https://a.example/"],
      { sessionId: "s1", issuer: "https://a.example/" },
    ],
    [
      ["--issuer", "https://a.example/", "--reason", "stolen key"],
      { issuer: "https://a.example/", reason: "stolen key" },
    ],
    [["--client", "c1"], { clientId: "c1" }],
    [["--token-id", "t1"], { tokenId: "t1" }],
  ])("adds an entry for %j to the store of the server", async (args, entry) => {
    expect(await outputOf(["revoke", "--app", app(), ...args])).toBe("Revoked.\n");
    expect(entries()).toMatchObject([entry]);
  });

  it("withdraws a revocation, or reports that there is none", async () => {
    expect(await outputOf(["revoke", "--app", app(), "--user", "u1", "--undo"])).toBe("Withdrawn.\n");
    const none = await outputOf(["revoke", "--app", app(), "--user", "u2", "--undo"], 1);
    expect(none).toBe("There is no revocation of this target.\n");
    expect(entries()).toEqual([]);
  });

  it("reads a token from the standard input only", async () => {
    const token = await issuer.token({ jti: "t9", exp: Math.floor(Date.now() / 1000) + 100 });
    const args = ["revoke", "--app", app(), "--token"];
    await outputOf([...args, "-"], 0, { input: `${token}\n` });
    expect(entries()).toMatchObject([{ principal: { tokenId: "t9" } }]);
    for (const given of [token, "t9"]) {
      const { code, notes, out } = await scopegate([...args, given]);
      expect([code, out]).toEqual([2, ""]);
      expect(notes).toMatch(/--token takes only `-`|write --token -, and pass/);
      expect(notes).not.toContain(token);
    }
  });

  it("reports a token that is not accepted, and revokes nothing", async () => {
    const token = await issuer.token({ jti: "t9", exp: 1 });
    const args = ["revoke", "--app", app(), "--token", "-"];
    expect(await outputOf(args, 1, { input: token })).toBe("The token isn't accepted anyway: expired.\n");
    expect(entries()).toEqual([]);
  });

  it.each<readonly [readonly string[], string]>([
    [["--user", "u1", "--session", "s1"], "takes one of"],
    [[], "takes one of"],
    [["--user", "u1", "--before", "yesterday"], "--before takes a time such as"],
    [["--user", "u1", "--before", "2030-13-45"], "--before takes a time such as"],
    [["--user", "u1", "--until", "1/2/2030"], "--until takes a time such as"],
    [["--session", "s1", "--before", "2024-01-31"], "Write one of"],
    [["--token-id", "t1", "--until", "2090-01-01"], "keepSeconds"],
  ])("rejects %j with the fix", async (args, fix) => {
    expect(await mistakesOf(["revoke", "--app", app(), ...args])).toContain(fix);
  });

  it("needs a server with the option `revocation`", async () => {
    expect(await mistakesOf("revoke --user u1")).toContain("--app ./server.js");
    const memory = `revoke --app ${appOf("server.ts")} --user u1`;
    expect(await mistakesOf(memory)).toContain("inMemoryRevocation()");
  });
});
