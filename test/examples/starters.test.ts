/** Runs each starter in its own process, as a reader who copied its folder does. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { scopegate as runCommand } from "../tools/cli/support.ts";
import { pageOf, responsesOf } from "../documentation/markdown.ts";
import { send } from "../documentation/serve.ts";
import { requestsOf } from "../documentation/shell.ts";
import { ask, askMcp } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { temporaryFolder } from "../support/folder.ts";
import { CHILD_LIMIT } from "../support/child-limit.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const STARTERS = join(ROOT, "examples/starters");
const PRELOAD = fileURLToPath(new URL("../support/report-port.ts", import.meta.url));
const MCP = "http://localhost:3000/mcp";

const page = pageOf("examples/README.md");
const documented = page.blocks.filter(({ language, code }) => language === "sh" && code.includes("curl "));

interface Manifest {
  readonly version?: string;
  readonly private?: boolean;
  readonly type?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

const root = readManifest(ROOT);
const tested = { ...root.dependencies, ...root.devDependencies };
const issuer = createIssuer({ audience: "orders" });
const folder = temporaryFolder("starters");
/** Signs a token that expires in an hour. */
const sign = (claims: object): Promise<string> =>
  issuer.token({ exp: Math.floor(Date.now() / 1000) + 3600, ...claims });

const starters = readdirSync(STARTERS).map((name) => {
  const manifest = readManifest(join(STARTERS, name));
  const [runner = "", file = ""] = (manifest.scripts?.["start"] ?? "").split(" ");
  return { name, manifest, runner, file, path: join(STARTERS, name, file) };
});
type Starter = (typeof starters)[number];
const hosts = starters.filter(({ name }) => !name.startsWith("mcp"));
/** `test/mcp/gateway.test.ts` runs the gateway, which has no page of its own. */
const explained = starters.filter(({ name }) => name !== "mcp-gateway");

/** The options of the starter's own `tsconfig.json`, if it has one, and where the source of the package is. */
function writeConfig({ name, path }: Starter): string {
  const read = (file: string) =>
    (ts.readConfigFile(file, (one) => ts.sys.readFile(one)).config ?? {}) as {
      readonly compilerOptions?: Readonly<Record<string, unknown>>;
    };
  const sources = read(join(ROOT, "tsconfig.json")).compilerOptions?.["paths"] as Record<string, string[]>;
  const paths = Object.fromEntries(
    Object.entries(sources).map(([from, [to = ""]]) => [from, [join(ROOT, to)]]),
  );
  const own = read(join(STARTERS, name, "tsconfig.json")).compilerOptions;
  const file = join(folder, `${name}.json`);
  writeFileSync(
    file,
    JSON.stringify({ compilerOptions: { ...own, paths }, files: [relative(folder, path)] }),
  );
  return file;
}

/** Starts a starter on a free port, which it passes to `use`, and ends it. */
async function withStarter(starter: Starter, use: (port: number) => Promise<void>): Promise<void> {
  const { name, file } = starter;
  const child = fork(file, {
    ...CHILD_LIMIT,
    cwd: join(STARTERS, name),
    execArgv: ["--import", import.meta.resolve("tsx"), "--import", PRELOAD],
    env: {
      ...process.env,
      PORT: "0",
      JWT_PUBLIC_KEY: issuer.publicPem,
      TSX_TSCONFIG_PATH: writeConfig(starter),
    },
    silent: true,
  });
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const closed = once(child, "close");
  try {
    const port = await Promise.race([
      once(child, "message").then(([sent]) => Number(sent)),
      closed.then(() => Promise.reject(new Error(`${name} did not start: ${errors}`))),
    ]);
    await use(port);
  } finally {
    child.kill();
    await closed;
  }
  expect(errors).toBe("");
}

/** Sends the requests of `examples/README.md` to a starter, with the tokens of its commands. */
async function checkDocumented(starter: Starter): Promise<void> {
  const keyFile = join(folder, `${starter.name}.pem`);
  writeFileSync(keyFile, issuer.privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
  const mint = async (args: readonly string[]) =>
    (await runCommand(["token", ...args, "--key", keyFile])).out.trim();
  const requests = await requestsOf(documented, mint, responsesOf(page));
  expect(requests.length).toBeGreaterThanOrEqual(3);
  await withStarter(starter, async (port) => {
    for (const request of requests) {
      const { status, text } = await send(port, request);
      expect(status, request.text).toBe(request.expected.statuses[0]);
      if (request.expected.body !== undefined) expect(JSON.parse(text)).toEqual(request.expected.body);
    }
  });
}

/** The names of the packages that a file imports. */
function packagesOf(path: string): readonly string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(path, "utf8"));
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((name) => !name.startsWith("node:") && !builtinModules.includes(name))
    .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"));
}

const partsOf = (version: string): readonly number[] => version.replace("^", "").split(".").map(Number);

/** Whether a caret range allows a version, or the lowest version of another caret range. */
function isAllowed(range: string, version: string): boolean {
  const [low, high] = [partsOf(range), partsOf(version)];
  // A caret fixes the first part that is not zero.
  const fixed = low.findIndex((part) => part > 0) + 1;
  const differs = low.findIndex((part, index) => part !== high[index]);
  return differs === -1 || (differs >= fixed && (high[differs] ?? 0) > (low[differs] ?? 0));
}

describe.each(hosts)("the starter for $name", (starter) => {
  it("returns 200, 401 and 403", async () => {
    const token = await sign({ scopes: ["stores:berlin:read"] });
    const eternal = await issuer.token({ scopes: ["stores:berlin:read"] });
    await withStarter(starter, async (port) => {
      const get = (path: string, credential?: string) => ask(port, { path, token: credential });
      expect(await get("/health")).toMatchObject({ status: 200, body: { status: "ok" } });
      const body = { store: "berlin", caller: "user-1" };
      expect(await get("/stores/berlin", token)).toMatchObject({ status: 200, body });
      expect(await get("/stores/berlin")).toMatchObject({ status: 401 });
      expect(await get("/stores/berlin", eternal)).toMatchObject({ status: 401 });
      expect(await get("/stores/oslo", token)).toMatchObject({ status: 403 });

      // A target in absolute form: its host must not become the store.
      expect((await get("http://berlin/health")).text).not.toContain("store");
      expect((await get("http://oslo/stores/berlin", token)).text).not.toContain('"oslo"');
    });
  });
});

describe("the starter for mcp", () => {
  it("responds to calls of its tool with 200, 401 and 403, and lists it", async () => {
    const [starter] = starters.filter(({ name }) => name === "mcp");
    if (!starter) throw new Error("There is no starter for MCP.");
    const token = await sign({ scopes: ["agents:web:run"], aud: MCP });
    const elsewhere = await sign({ scopes: ["agents:web:run"] });
    await withStarter(starter, async (port) => {
      const run = (agent_id: string, credential?: string) =>
        askMcp(port, "tools/call", { name: "run_agent", arguments: { agent_id } }, credential);
      const allowed = await run("web", token);
      expect([allowed.status, allowed.text]).toEqual([200, expect.stringContaining("web ran for user-1")]);
      const list = await askMcp(port, "tools/list", {}, token);
      expect([list.status, list.text]).toEqual([200, expect.stringContaining('"run_agent"')]);
      expect(await run("web")).toMatchObject({ status: 401 });
      expect(await run("web", elsewhere)).toMatchObject({ status: 401 });
      const refused = await run("api", token);
      expect(refused.status).toBe(403);
      expect(refused.headers["www-authenticate"]).toMatch(/scope="agents:api:run( |")/);
      const unknown = await askMcp(port, "tools/call", { name: "delete_all" }, token);
      expect(unknown.status).toBe(403);
      const metadata = await ask(port, { path: "/.well-known/oauth-protected-resource/mcp" });
      expect(metadata.body).toMatchObject({ resource: MCP });
    });
  });
});

describe("examples/README.md", () => {
  it("links to every starter", () => {
    const { text } = page;
    for (const { name } of starters) expect(text).toContain(`(starters/${name})`);
    for (const { name } of explained)
      expect(text).toMatch(new RegExp(`\\(starters/${name}\\).*\\(\\.\\./docs/start/README\\.md#${name}`));
  });

  it.each(starters.filter(({ name }) => name === "express"))(
    "shows requests that $name responds to as described",
    checkDocumented,
  );
});

describe("the package.json of each starter", () => {
  it("exists for every starter that docs/start/README.md names", () => {
    const text = readFileSync(join(ROOT, "docs/start/README.md"), "utf8");
    const named = [...text.matchAll(/\(\.\.\/\.\.\/examples\/starters\/(\w+)\)/g)];
    expect(explained.map(({ name }) => name).sort()).toEqual(named.map(([, name]) => name).sort());
  });

  it.each(starters)("starts the server of $name with one command", ({ manifest, runner, file }) => {
    expect(manifest).toMatchObject({ private: true, type: "module" });
    expect(Object.keys(manifest.scripts ?? {})).toEqual(["start"]);
    expect(`${runner} ${file}`).toBe(file.endsWith(".ts") ? "tsx server.ts" : "node server.mjs");
  });

  it.each(starters)("names every package that $name imports", ({ manifest, runner, path }) => {
    const needed = [...packagesOf(path), ...(runner === "node" ? [] : [runner])];
    expect(Object.keys(manifest.dependencies ?? {})).toEqual(expect.arrayContaining(needed));
  });

  it.each(starters)("allows the versions that $name is tested with", ({ manifest }) => {
    const { scopegate = "", ...others } = manifest.dependencies ?? {};
    expect(isAllowed(scopegate, root.version ?? "")).toBe(true);
    for (const [name, range] of Object.entries(others))
      expect(
        isAllowed(range, tested[name] ?? ""),
        `${name}@${range}, tested ${tested[name] ?? "never"}`,
      ).toBe(true);
  });
});

describe("isAllowed", () => {
  it.each([
    ["^5.0.0", "5.3.0", true],
    ["^5.3.1", "5.3.0", false],
    ["^5.0.0", "6.0.0", false],
    ["^4.8.0", "4.13.19", true],
    ["^4.2.0", "^4.6.7", true],
    ["^0.2.0", "0.2.0", true],
    ["^0.2.0", "0.2.2", true],
    ["^0.2.1", "0.2.0", false],
    ["^0.2.0", "0.3.0", false],
  ])("compares %s with %s", (range, version, expected) => {
    expect(isAllowed(range, version)).toBe(expected);
  });
});
