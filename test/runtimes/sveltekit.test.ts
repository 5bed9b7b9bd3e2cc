/** The recipe for SvelteKit, built by Vite and answered by the server that SvelteKit builds. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { link, findPacked, unpack, writeFiles } from "../package/packed.ts";
import { listenerOf } from "../support/hosts.ts";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { temporaryFolder } from "../support/folder.ts";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";

const MODULES = fileURLToPath(new URL("node_modules", import.meta.url));
const project = temporaryFolder("sveltekit");
const issuer = createIssuer({ audience: "orders" });

const hook = readFileSync("examples/complete/sveltekit.ts", "utf8");

const LOAD = "export const load = ({ locals }) => ({ caller: locals.principal?.userId ?? null });";
const FILES: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({ type: "module", private: true }),
  "vite.config.js": `import { sveltekit } from "@sveltejs/kit/vite";
    export default { plugins: [sveltekit()], logLevel: "error" };`,
  "svelte.config.js": "export default { kit: { experimental: { remoteFunctions: true } } };",
  "src/app.html": "<head>%sveltekit.head%</head><body>%sveltekit.body%</body>",
  "src/hooks.server.ts": hook,
  "src/routes/stores/+page.svelte": "<script>let { data } = $props();</script>{data.caller}",
  "src/routes/stores/+page.server.js": LOAD,
  "src/routes/health/+page.svelte": `<script>import { secrets } from "./secrets.remote.js";</script>
    <button onclick={() => secrets()}>show</button>`,
  "src/routes/health/+page.server.js": LOAD,
  "src/routes/health/secrets.remote.js": `import { query } from "$app/server";
    export const secrets = query(() => "secret");`,
  "src/routes/api/stores/[store_id]/+server.js": `export const GET = ({ params, locals }) =>
    Response.json({ store: params.store_id, caller: locals.principal?.userId });`,
};

interface Manifest {
  /** The modules with remote functions, by the name that clients know them by. */
  readonly _: { readonly remotes: object };
}

interface SvelteKit {
  readonly Server: new (manifest: Manifest) => {
    init(options: object): Promise<void>;
    respond(request: Request, options: object): Promise<Response>;
  };
}

describe.skipIf(!existsSync(join(MODULES, "@sveltejs/kit")))("SvelteKit", () => {
  let port: number;
  let remote: string | undefined;
  let close: () => Promise<void>;
  beforeAll(async () => {
    unpack(findPacked(), project);
    link(project, ["@sveltejs/kit", "@sveltejs/vite-plugin-svelte", "svelte", "vite"], MODULES);
    writeFiles(project, FILES);
    vi.stubEnv("JWT_PUBLIC_KEY", issuer.publicPem);
    const vite = join(MODULES, "vite/bin/vite.js");
    execFileSync(process.execPath, [vite, "build"], { ...LONG_CHILD_LIMIT, cwd: project, stdio: "pipe" });
    const built = (file: string): Promise<unknown> =>
      import(pathToFileURL(join(project, ".svelte-kit/output/server", file)).href);
    const { Server } = (await built("index.js")) as SvelteKit;
    const { manifest } = (await built("manifest-full.js")) as { readonly manifest: Manifest };
    [remote] = Object.keys(manifest._.remotes);
    const server = new Server(manifest);
    await server.init({ env: {} });
    const listener = listenerOf((request) =>
      server.respond(request, { getClientAddress: () => "127.0.0.1" }),
    );
    ({ port, close } = await listen(createServer(listener)));
  });
  afterAll(async () => {
    await close();
    vi.unstubAllEnvs();
  });

  const get = async (path: string, scopes?: readonly string[], headers: readonly [string, string][] = []) =>
    ask(port, {
      path,
      headers,
      token: scopes && (await issuer.token({ exp: Math.floor(Date.now() / 1000) + 300, scopes })),
    });

  it("passes the caller to endpoints and pages", async () => {
    const { status, body } = await get("/api/stores/berlin", ["stores:berlin:read"]);
    expect({ status, body }).toEqual({ status: 200, body: { store: "berlin", caller: "user-1" } });
    expect((await get("/stores", ["stores:read"])).text).toContain("user-1");
    expect((await get("/health")).status).toBe(200);
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
    expect((await get("/API/stores/berlin", ["stores:berlin:read"])).status).toBe(400);
    expect((await get("/elsewhere/else")).status).toBe(403);
  });

  it("decides the data of a page by the rule for the page", async () => {
    expect((await get("/stores/__data.json")).status).toBe(401);
    expect((await get("/stores/__data.json", [])).status).toBe(403);
    expect((await get("/stores/__data.json", ["stores:read"])).text).toContain("user-1");
    expect((await get("/health/__data.json")).status).toBe(200);
  });

  it("does not let the client of a remote function choose the path that decides", async () => {
    const path = `/_app/remote/${String(remote)}/secrets`;
    const answer = await get(path, undefined, [["x-sveltekit-pathname", "/health"]]);
    expect(answer).toMatchObject({ status: 403, body: { code: "route_unmapped" } });
  });
});
