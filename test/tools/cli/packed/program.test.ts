/** The program of the packed package, as a child process, on real applications. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { commands } from "../../../../src/tools/cli/commands/index.ts";
import { findPacked, unpack } from "../../../package/packed.ts";
import { temporaryFolder } from "../../../support/folder.ts";
import { CHILD_LIMIT, runChild } from "../../../support/child-limit.ts";

const project = temporaryFolder("program");
const PROGRAM = join(project, "node_modules/.bin/scopegate");
const PATH = `${join(project, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`;
const FRAMEWORKS = ["express", "koa", "@koa/router", "fastify", "hono", "@hono/node-server"];

beforeAll(() => {
  unpack(findPacked(), project, "yaml", ...FRAMEWORKS);
  mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
  const { bin } = JSON.parse(readFileSync(join(project, "node_modules/scopegate/package.json"), "utf8")) as {
    readonly bin: { readonly scopegate: string };
  };
  symlinkSync(join("../scopegate", bin.scopegate), PROGRAM);
  for (const [name, code] of Object.entries(APPLICATIONS)) writeFileSync(join(project, name), code);
  mkdirSync(join(project, "src/app"), { recursive: true });
  writeFileSync(join(project, "src/app/page.js"), "export default () => null;");
});

/** Runs the program with its output in pipes. */
function scopegate(args: readonly string[]) {
  const env = { ...process.env, NODE_ENV: "test" };
  const { status, stdout, stderr } = runChild(PROGRAM, args, { ...CHILD_LIMIT, cwd: project, env });
  return { code: status, out: stdout, notes: stderr };
}

/** Runs commands of a shell, which finds the program by its name. */
const runShell = (script: string, cwd = project) =>
  runChild("sh", ["-ec", script], { ...CHILD_LIMIT, cwd, env: { ...process.env, PATH } });

const SERVER = `import { createResourceServer } from "scopegate";
  export const server = createResourceServer({ serviceId: "agents-prod", algorithm: "HS256",
    verificationKeys: ["a-secret-of-more-than-thirty-two-bytes-0123456789"],
    scopeMappings: { "GET /agents": ["agents:read"], "GET /agents/:agent_id": ["agents:<agent_id>:read"] } });`;

/** Each starts to listen, prints, and never ends by itself. */
const APPLICATIONS: Readonly<Record<string, string>> = {
  "package.json": `{ "type": "module" }`,
  "express.js": `${SERVER}
    import express from "express";
    import { protect } from "scopegate/express";
    export const app = express();
    app.use(protect(server));
    app.get("/agents/:agent_id", (req, res) => res.json({}));
    app.delete("/agents/:agent_id", (req, res) => res.json({}));
    app.listen(0, () => console.log("listening"));
    console.log("loaded");`,
  "express.cjs": `const express = require("express");
    const { createResourceServer } = require("scopegate");
    const { protect } = require("scopegate/express");
    const server = createResourceServer({ serviceId: "a", verificationKeys: ["k".repeat(16) + "0123456789abcdef"], algorithm: "HS256", scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"] } });
    const app = express();
    app.use(protect(server));
    app.get("/agents/:agent_id", (req, res) => res.json({}));
    app.delete("/agents/:agent_id", (req, res) => res.json({}));
    setInterval(() => undefined, 1000);
    module.exports = { app, server };`,
  "koa.js": `${SERVER}
    import Koa from "koa";
    import Router from "@koa/router";
    import { protect } from "scopegate/koa";
    const router = new Router().get("/agents/:agent_id", (ctx) => (ctx.body = {})).delete("/agents/:agent_id", (ctx) => (ctx.body = {}));
    const app = new Koa().use(protect(server)).use(router.routes());
    app.listen(0);
    export default app;`,
  "fastify.js": `${SERVER}
    import fastify from "fastify";
    import { protect } from "scopegate/fastify";
    export const app = fastify();
    await app.register(protect(server));
    app.get("/agents/:agent_id", () => ({}));
    app.delete("/agents/:agent_id", () => ({}));
    await app.listen({ port: 0 });`,
  "hono.js": `${SERVER}
    import { Hono } from "hono";
    import { serve } from "@hono/node-server";
    import { protect } from "scopegate/hono";
    const app = new Hono().use(protect(server)).get("/agents/:agent_id", (c) => c.json({})).delete("/agents/:agent_id", (c) => c.json({}));
    serve({ fetch: app.fetch, port: 0 });
    export default app;`,
  "exits.js": `process.exit(0);`,
  "hangs.js": `await new Promise(() => undefined);`,
  "fails.js": `${SERVER} setImmediate(() => { throw new Error("no database"); }); await new Promise((resolve) => setTimeout(resolve, 60_000));`,
  "deep.js": `import express from "express";
    express().get("/:", () => undefined);`,
  "throws.js": `import { createResourceServer } from "scopegate";
    export const server = createResourceServer({});`,
  "typed.ts": `${SERVER} export const routes: object[] = [{ method: "GET", pattern: "/agents" }]; enum Old { Syntax }; console.log(Old.Syntax);`,
  "server.js": `import { createResourceServer } from "scopegate";
    import { sharedRevocation } from "scopegate/revocation";
    const verificationKeys = ["a-secret-of-more-than-thirty-two-bytes-0123456789"];
    const values = new Map();
    const revocation = sharedRevocation({
      get: async (keys) => keys.map((key) => values.get(key)),
      set: async (key, value, { ifAbsent } = {}) => !(ifAbsent && values.has(key)) && values.set(key, value) === values,
      delete: async (key) => void values.delete(key),
    });
    export const server = createResourceServer({ serviceId: "agents-prod", algorithm: "HS256", verificationKeys, revocation });`,
  "app.js": `export { app, server } from "./express.js";`,
  "scopegate.json": `{ "service_id": "agents-prod", "algorithm": "HS256", "verification_keys": ["a-secret-of-more-than-thirty-two-bytes-0123456789"] }`,
  "decisions.ndjson": `{"id":"1","method":"GET","pattern":"/agents","result":"refused","reason":"credential_missing","matched":true}\n`,
  "api.yaml": `openapi: 3.1.0\ninfo: { title: Agents, version: "1" }\npaths: { /agents: { get: { security: [{ bearer: ["agents:read"] }], responses: {} } } }\ncomponents: { securitySchemes: { bearer: { type: http, scheme: bearer } } }\n`,
  "token.txt": "not.a.token",
  "roles.json": `{ "nobody": "anonymous", "reader": ["agents:read"] }`,
  "new.json": `{ "GET /agents": "public" }`,
  "old.json": `{}`,
  "proposed.json": `{ "GET /agents": [] }`,
};

describe("the program", () => {
  it("shows its help and version, and is executable", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
    expect(scopegate(["--version"])).toEqual({ code: 0, out: `${version}\n`, notes: "" });
    expect(scopegate([]).out).toContain("Usage: scopegate COMMAND");
    expect(scopegate(["nonsense"])).toMatchObject({ code: 2, out: "" });
  });

  it.each(["express.js", "express.cjs", "koa.js", "fastify.js", "hono.js"])(
    "audits %s, which is listening, and ends with a clean result",
    (app) => {
      const { code, out } = scopegate(["audit", "--app", `./${app}`, "--json"]);
      expect(JSON.parse(out)).toMatchObject({
        ok: false,
        findings: expect.arrayContaining([
          expect.objectContaining({
            kind: "route_unmapped",
            route: { method: "DELETE", pattern: "/agents/:agent_id" },
          }),
        ]) as unknown,
      });
      expect(code).toBe(1);
      expect(scopegate(["routes", "--app", `./${app}`])).toMatchObject({ code: 0 });
    },
  );

  it.each([
    ["exits.js", ""],
    ["hangs.js", ""],
    ["fails.js", "no database"],
  ])("returns 2 for %s, which never gets to an application", (app, message) => {
    const { code, out, notes } = scopegate(["audit", "--app", `./${app}`]);
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(notes).toContain(message);
    expect(notes).toContain("scopegate: ");
    const json = scopegate(["audit", "--app", `./${app}`, "--json"]);
    expect(json).toMatchObject({ code: 2, notes: "" });
    expect(JSON.parse(json.out)).toEqual({ mistakes: [expect.stringContaining(message)] });
  });

  it("shows where an application fails, while it is loaded and later, without the whole stack", () => {
    const notesOf = (app: string) => scopegate(["audit", "--app", `./${app}`]).notes.split("\n");
    const loading = notesOf("throws.js");
    expect(loading[0]).toMatch(/^scopegate: .*throws\.js.* can't be loaded: serviceId: .*/);
    expect(loading.slice(-3)).toEqual([
      expect.stringMatching(/^verificationKeys: /),
      expect.stringMatching(/^ {2}at \/.*throws\.js:2:\d+$/),
      "",
    ]);
    expect(notesOf("deep.js")).toEqual([
      expect.stringMatching(/^scopegate: .* can't be loaded: Missing parameter name/),
      expect.stringMatching(/^ {2}at \/.*deep\.js:2:\d+$/),
      "",
    ]);
    expect(notesOf("fails.js")).toEqual([
      "scopegate: The application failed: no database. Export it without starting it.",
      expect.stringMatching(/^ {2}at \/.*fails\.js:\d+:\d+$/),
      "",
    ]);
  });

  it("names tsx where Node.js cannot load TypeScript", () => {
    const { code, notes } = scopegate(["audit", "--app", "./typed.ts"]);
    expect(code).toBe(2);
    expect(notes).toContain("node --import tsx node_modules/scopegate/dist/cli.js");
  });

  it("runs every example of the help and every command of its pages", () => {
    const page = ["reference/command-line", "guides/troubleshooting", "guides/ci"]
      .map((name) => readFileSync(`docs/${name}.md`, "utf8"))
      .join("\n");
    const examples = commands.flatMap(({ name, examples }) =>
      examples.map(([args, , input]) => {
        const source = input === undefined ? "" : `cat ${input} | `;
        return `${source}scopegate ${name} ${args}`;
      }),
    );
    const shown = [...page.matchAll(/^(?:TOKEN=\$\()?((?:cat [\w.]+ \| )?npx scopegate [^)\n]*)\)?$/gm)].map(
      ([, text = ""]) => text.replace("npx ", ""),
    );
    expect(shown.length).toBeGreaterThan(2);
    for (const command of [...examples, ...shown]) {
      // The test below ends it.
      if (command.startsWith("scopegate issuer")) continue;
      // One of the examples writes this file.
      writeFileSync(join(project, "scopegate.json"), APPLICATIONS["scopegate.json"] ?? "");
      const ran = runShell(command);
      expect([0, 1], `${command}: ${ran.stderr}`).toContain(ran.status);
    }
  });

  it.each(["SIGINT", "SIGTERM"] as const)("publishes the development key until %s", async (signal) => {
    const args = ["issuer", "--port", "0", "--key", "issuer.pem"];
    const child = spawn(PROGRAM, args, { ...CHILD_LIMIT, cwd: project });
    let [out, notes] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (notes += chunk));
    const closed = once(child, "close");
    await expect.poll(() => notes).toMatch(/ISSUER=http:\/\/localhost:\d+\n/);
    const [url = ""] = /http:\/\/localhost:\d+/.exec(notes) ?? [];
    const published = await (await fetch(`${url}/.well-known/jwks.json`)).json();
    expect(published).toEqual(JSON.parse(scopegate(["token", "--jwks", "--key", "issuer.pem"]).out));
    child.kill(signal);
    const [code] = (await closed) as [number | null];
    expect({ code, out }).toEqual({ code: 0, out: "Stopped.\n" });
  });

  it("passes the workflow of docs/ci for a reviewed policy, and fails it for an opened route and a weak setting", () => {
    const service = join(project, "service");
    mkdirSync(service);
    const write = (name: string, content: unknown) =>
      writeFileSync(
        join(service, name),
        typeof content === "string" ? content : JSON.stringify(content, null, 2),
      );
    const { jobs } = parse(readFileSync("docs/ci/policy.yml", "utf8")) as {
      readonly jobs: { readonly policy: { readonly steps: readonly { name?: string; run?: string }[] } };
    };
    const checks = jobs.policy.steps.filter(({ name, run }) => name !== undefined && run !== undefined);
    const codes = () => checks.map(({ run = "" }) => runShell(run, service).status);

    const config = { service_id: "agents-prod", required_claims: ["exp"], default_scope_mappings: {} };
    const rules = { "GET /agents": ["agents:read"], "GET /agents/:agent_id": ["agents:<agent_id>:read"] };
    write("package.json", { type: "module" });
    write(
      "app.js",
      `import express from "express"; import { createResourceServer } from "scopegate"; import { protect } from "scopegate/express";
       const server = createResourceServer({ verificationKeys: ["0123456789abcdef".repeat(2)], algorithm: "HS256", verifyAudience: false });
       export const app = express(); app.use(protect(server));
       for (const path of ["/agents", "/agents/:agent_id"]) app.get(path, (req, res) => res.json({}));`,
    );
    write("scopegate.json", { ...config, scope_mappings: rules });
    write("roles.json", { nobody: "anonymous", member: [], reader: ["agents:read"] });
    const operation = { responses: { 200: { description: "Done" } } };
    const parameters = [{ name: "agent_id", in: "path", required: true, schema: { type: "string" } }];
    const paths = {
      "/agents": { get: operation },
      "/agents/{agent_id}": { get: { ...operation, parameters } },
    };
    write("api.json", { openapi: "3.1.0", info: { title: "Agents", version: "1" }, paths });
    const prepared = runShell(
      `scopegate openapi write api.json --config scopegate.json > api.yaml
       scopegate matrix --roles roles.json --config scopegate.json --check access.md --write`,
      service,
    );
    expect(prepared.stderr).toBe("");
    expect(checks.length).toBe(4);
    expect(codes()).toEqual([0, 0, 0, 0]);
    write("scopegate.json", { ...config, scope_mappings: { ...rules, "GET /agents": "public" } });
    expect(codes()).toEqual([0, 0, 1, 1]);
    write("scopegate.json", { ...config, required_claims: [], scope_mappings: rules });
    expect(codes()).toEqual([1, 0, 0, 0]);
  });

  it.skipIf(process.platform !== "linux")("returns 2 for an output that cannot be written", () => {
    const ran = runShell("scopegate routes --config scopegate.json > /dev/full");
    expect(ran.status).toBe(2);
    expect(ran.stderr).toBe("scopegate: The output can't be written: ENOSPC.\n");
  });

  it("ends quietly with its exit code when the reader has closed the pipe", async () => {
    const table = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`GET /r${index}`, ["a:b"]]),
    );
    writeFileSync(join(project, "large.json"), JSON.stringify(table));
    const child = spawn(PROGRAM, ["routes", "--config", "large.json"], { ...CHILD_LIMIT, cwd: project });
    child.stdout.destroy();
    let notes = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (notes += chunk));
    const [code] = (await once(child, "close")) as [number];
    expect({ code, notes }).toEqual({ code: 0, notes: "" });
  });
});
