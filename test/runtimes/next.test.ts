/** The recipes for Next.js, built and started by Next.js itself. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pageOf } from "../documentation/markdown.ts";
import { link, findPacked, unpack, writeFiles } from "../package/packed.ts";
import { ALICE, ORIGIN, sentBy, thumbprintOf } from "../security/proofs/forge.ts";
import { itPrevents } from "../security/vulnerabilities/prevents.ts";
import { ask } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { launch, type Started } from "./runtimes.ts";
import { temporaryFolder } from "../support/folder.ts";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";

const MODULES = fileURLToPath(new URL("node_modules", import.meta.url));
const project = temporaryFolder("next");
const issuer = createIssuer({ audience: "orders" });
const token = (...scopes: readonly string[]): Promise<string> =>
  issuer.token({ scopes, exp: Math.floor(Date.now() / 1_000) + 300 });

const recipeOf = (part: string): string => {
  const found = pageOf("docs/guides/nextjs.md").blocks.find(({ code }) => code.includes(part));
  if (!found) throw new Error(`docs/guides/nextjs.md has no block with ${part}`);
  return found.code;
};
const proxy = recipeOf("export async function proxy");

/** As JavaScript: Next.js would install its compiler for a file of TypeScript. */
function transpile(code: string): string {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

const NEXT = join(MODULES, "next/dist/bin/next");
const environment = { ...process.env, JWT_PUBLIC_KEY: issuer.publicPem, NEXT_TELEMETRY_DISABLED: "1" };

// The other bundler of Next.js follows no links out of the project.
const build = (folder: string): unknown =>
  execFileSync(process.execPath, [NEXT, "build", "--webpack"], {
    ...LONG_CHILD_LIMIT,
    cwd: folder,
    env: environment,
    stdio: "pipe",
  });

const launchNext = (folder: string, ...command: readonly string[]): Promise<Started> =>
  launch({
    file: process.execPath,
    args: [NEXT, ...command, "-p", "0", "-H", "127.0.0.1"],
    folder,
    env: environment,
    portAt: 1,
  });

async function start(withProxy: boolean): Promise<Started> {
  if (withProxy) writeFiles(project, { "proxy.js": transpile(proxy) });
  else rmSync(join(project, "proxy.js"), { force: true });
  build(project);
  return launchNext(project, "start");
}

beforeAll(() => {
  unpack(findPacked(), project);
  link(project, ["next", "react", "react-dom"], MODULES);
  writeFiles(project, {
    "package.json": JSON.stringify({ type: "module", private: true }),
    // The alias `@/` of `create-next-app`.
    "jsconfig.json": JSON.stringify({ compilerOptions: { paths: { "@/*": ["./*"] } } }),
    "lib/server.js": transpile(recipeOf("export const server =")),
    "next.config.js": transpile(recipeOf("redirects:")),
    "app/api/stores/[store_id]/route.js": transpile(recipeOf("export const GET =")),
    "app/api/[name]/route.js": 'export const GET = () => Response.json({ status: "open" });',
    "app/api/health/route.js": 'export const GET = () => Response.json({ status: "ok" });',
  });
});

describe.skipIf(!existsSync(join(MODULES, "next"))).each([
  ["route handlers", false],
  ["route handlers behind proxy.ts", true],
])("Next.js: %s", (_, withProxy) => {
  let started: Started | undefined;
  beforeAll(async () => {
    started = await start(withProxy);
  });
  afterAll(() => started?.stop());

  const get = async (path: string, scopes?: readonly string[]) =>
    ask(started?.port ?? 0, { path, token: scopes && (await token(...scopes)) });

  it("passes the caller to the handler, with the context of Next.js", async () => {
    const { status, body } = await get("/api/stores/berlin", ["stores:berlin:read"]);
    expect({ status, body }).toEqual({ status: 200, body: { store: "berlin", caller: "user-1" } });
  });

  it("sends refusals with their status, headers and body", async () => {
    const missing = await get("/api/stores/berlin");
    expect(missing).toMatchObject({ status: 401, body: { code: "credential_missing" } });
    expect(missing.headers).toMatchObject({
      "www-authenticate": "Bearer",
      "content-type": "application/problem+json",
      "cache-control": "no-store",
    });
    const other = await get("/api/stores/oslo", ["stores:berlin:read"]);
    expect(other).toMatchObject({ status: 403, body: { code: "scope_insufficient" } });
    expect(other.headers["www-authenticate"]).toContain('scope="stores:oslo:read"');
  });

  it("guards pages without a wrapped handler if the proxy is guarded", async () => {
    expect((await get("/api/health")).status).toBe(200);
    expect((await get("/elsewhere")).status).toBe(withProxy ? 403 : 404);
    expect((await get("/API/health")).status).toBe(withProxy ? 400 : 404);
  });

  itPrevents("CVE-2026-44575", async () => {
    for (const path of ["/", "/api/health", "/api/health.segments/_tree.segment"]) {
      const { status, headers } = await get(`${path}.rsc`);
      expect({ status, location: headers["location"] }).toEqual({ status: 307, location: path });
    }
  });
});

/** `/teams` is public, and Next.js rewrites each path below it to a handler. */
const SERVER = `
import { openSync } from "node:fs";
import { join } from "node:path";
import { createResourceServer } from "scopegate";
import { senderConstraint } from "scopegate/sender-constraint";

// Next.js bundles this module twice, for the proxy and for the handlers. Both share the files.
const replay = {
  get: async (keys) => keys.map(() => undefined),
  set: async (key) => {
    try {
      openSync(join(process.cwd(), "proofs", key.replace("replay:", "")), "wx");
      return true;
    } catch (error) {
      if (error.code === "EEXIST") return false;
      throw error;
    }
  },
  delete: async () => undefined,
};

export const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  senderConstraint: senderConstraint({ dpop: { origins: ["${ORIGIN}"], replay } }),
  scopeMappings: {
    "GET /teams{/*path}": "public",
    "GET /api/admin/users": ["admin:read"],
    "GET /api/stores/:store_id": ["stores:<store_id>:read"],
    "DELETE /api/stores/:store_id": ["stores:<store_id>:delete"],
    "GET /api/docs{/*path}": ["docs:read"],
    "GET /api/docs/private{/*path}": ["docs:private"],
  },
});
`;

const imports = `import { withScopes } from "scopegate/fetch";
import { server } from "@/lib/server";
const respond = async (request, { principal }, { params }) => Response.json({ params: await params, caller: principal?.userId });
`;

describe.skipIf(!existsSync(join(MODULES, "next"))).each(["start", "dev"])("a rewrite in next %s", (mode) => {
  const folder = temporaryFolder("next-rewrites");
  let started: Started | undefined;

  beforeAll(async () => {
    unpack(findPacked(), folder);
    link(folder, ["next", "react", "react-dom"], MODULES);
    mkdirSync(join(folder, "proofs"));
    writeFiles(folder, {
      "package.json": JSON.stringify({ type: "module", private: true }),
      "jsconfig.json": JSON.stringify({ compilerOptions: { paths: { "@/*": ["./*"] } } }),
      "next.config.js": `export default { rewrites: async () => [{ source: "/teams/:teamId/:path*", destination: "/:path*" }] };`,
      "lib/server.js": SERVER,
      "proxy.js": transpile(proxy),
      "app/api/admin/users/route.js": `${imports}export const GET = withScopes(server, { route: "GET /api/admin/users" }, respond);`,
      "app/api/plain/route.js": `${imports}export const GET = withScopes(server, respond);`,
      "app/api/stores/[store_id]/route.js": `${imports}export const { GET, DELETE } = withScopes(server, { route: "/api/stores/:store_id" }, { GET: respond, DELETE: respond });`,
      "app/api/docs/[[...path]]/route.js": `${imports}export const GET = withScopes(server, { route: "GET /api/docs{/*path}" }, respond);`,
    });
    if (mode === "start") build(folder);
    started = await launchNext(folder, mode, ...(mode === "dev" ? ["--webpack"] : []));
    // In development, Next.js compiles a handler when it's first called.
    for (const path of ["admin/users", "plain", "stores/berlin", "docs"]) await get(`/teams/7/api/${path}`);
  });
  afterAll(() => started?.stop());

  const get = async (path: string, scopes?: readonly string[], method = "GET") =>
    ask(started?.port ?? 0, { path, method, token: scopes && (await token(...scopes)) });

  it("doesn't open the handler by the public rule for the client's path", async () => {
    const path = "/teams/7/api/admin/users";
    expect((await get(path)).body).toMatchObject({ status: 401, code: "credential_missing" });
    expect((await get(path, ["stores:read"])).body).toMatchObject({
      status: 403,
      code: "scope_insufficient",
    });
    expect((await get(path, ["admin:read"])).body).toEqual({ caller: "user-1" });
  });

  it("doesn't open a handler without a route, also with a token", async () => {
    for (const scopes of [undefined, ["admin:read"]])
      expect((await get("/teams/7/api/plain", scopes)).body).toMatchObject({
        status: 403,
        code: "route_unmapped",
      });
  });

  it("decides by the parameters that the handler receives", async () => {
    const store = "/teams/7/api/stores/a%40b";
    expect((await get(store, ["stores:a@b:read"])).body).toEqual({
      params: { store_id: "a@b" },
      caller: "user-1",
    });
    expect((await get("/teams/7/api/stores/oslo", ["stores:berlin:read"])).status).toBe(403);
    expect((await get("/api/stores/berlin", ["stores:berlin:read"])).status).toBe(200);
    expect((await get("/api/stores/berlin", ["stores:berlin:read"], "HEAD")).status).toBe(200);
    expect((await get("/api/stores/berlin", ["stores:berlin:read"], "DELETE")).status).toBe(403);
  });

  it("reads a wildcard with and without a segment", async () => {
    const docs = "/teams/7/api/docs";
    expect((await get(docs, ["docs:read"])).body).toEqual({ params: {}, caller: "user-1" });
    expect((await get(`${docs}/a/b%20c`, ["docs:read"])).body).toMatchObject({
      params: { path: ["a", "b c"] },
    });
    expect((await get(`${docs}/private/x`, ["docs:read"])).status).toBe(403);
  });

  it("accepts a proof once in the proxy and once in the handler, which share a store", async () => {
    const path = "/api/admin/users";
    const bound = await issuer.token({
      scopes: ["admin:read"],
      exp: Math.floor(Date.now() / 1_000) + 300,
      cnf: { jkt: thumbprintOf(ALICE.jwk) },
    });
    const claims = { htu: ORIGIN + path, iat: Math.floor(Date.now() / 1_000) };
    const { fields } = sentBy({ token: bound, claims });
    const send = async () => (await ask(started?.port ?? 0, { path, headers: fields })).body;
    expect(await send()).toEqual({ caller: "user-1" });
    expect(await send()).toMatchObject({ status: 401, code: "proof_rejected" });
    expect((await get(path)).status).toBe(401);
  });
});
