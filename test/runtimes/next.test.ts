/** The recipes for Next.js, built and started by Next.js itself. */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pageOf } from "../documentation/markdown.ts";
import { link, findPacked, unpack, writeFiles } from "../package/packed.ts";
import { itPrevents } from "../security/vulnerabilities/prevents.ts";
import { ask } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { launch, type Started } from "./runtimes.ts";
import { temporaryFolder } from "../support/folder.ts";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";

const MODULES = fileURLToPath(new URL("node_modules", import.meta.url));
const project = temporaryFolder("next");
const issuer = createIssuer();
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

async function start(withProxy: boolean): Promise<Started> {
  if (withProxy) writeFiles(project, { "proxy.js": transpile(proxy) });
  else rmSync(join(project, "proxy.js"), { force: true });
  const env = { ...process.env, JWT_PUBLIC_KEY: issuer.publicPem, NEXT_TELEMETRY_DISABLED: "1" };
  const next = join(MODULES, "next/dist/bin/next");
  // The other bundler of Next.js follows no links out of the project.
  execFileSync(process.execPath, [next, "build", "--webpack"], {
    ...LONG_CHILD_LIMIT,
    cwd: project,
    env,
    stdio: "pipe",
  });
  const args = [next, "start", "-p", "0", "-H", "127.0.0.1"];
  return launch({ file: process.execPath, args, folder: project, env, portAt: 1 });
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
    "app/api/agents/[agent_id]/route.js": transpile(recipeOf("export const GET =")),
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
    const { status, body } = await get("/api/agents/web", ["agents:web:read"]);
    expect({ status, body }).toEqual({ status: 200, body: { agent: "web", caller: "user-1" } });
  });

  it("sends refusals with their status, headers and body", async () => {
    const missing = await get("/api/agents/web");
    expect(missing).toMatchObject({ status: 401, body: { code: "credential_missing" } });
    expect(missing.headers).toMatchObject({
      "www-authenticate": "Bearer",
      "content-type": "application/problem+json",
      "cache-control": "no-store",
    });
    const other = await get("/api/agents/api", ["agents:web:read"]);
    expect(other).toMatchObject({ status: 403, body: { code: "scope_insufficient" } });
    expect(other.headers["www-authenticate"]).toContain('scope="agents:api:read"');
  });

  it("guards pages without a wrapped handler if the proxy is guarded", async () => {
    expect((await get("/api/health")).status).toBe(200);
    expect((await get("/elsewhere")).status).toBe(withProxy ? 403 : 404);
    expect((await get("/API/health")).status).toBe(withProxy ? 400 : 404);
  });

  itPrevents("CVE-2026-44575", async () => {
    for (const path of ["/api/health", "/api/health.segments/_tree.segment"]) {
      const { status, headers } = await get(`${path}.rsc`);
      expect({ status, location: headers["location"] }).toEqual({ status: 307, location: path });
    }
  });
});
