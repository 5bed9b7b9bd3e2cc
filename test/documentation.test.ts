/** Every code block of the documentation compiles; every block of a page runs, servers answer as documented. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ResourceServer } from "scopegate";
import { WebSocket } from "ws";
import { ask } from "./support/http.ts";
import { createIssuer } from "./support/issuer.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
// Inside the project, so that a snippet finds the packages that it imports.
const FOLDER = join(ROOT, "test/.snippets");
const PRELOAD = fileURLToPath(new URL("support/report-port.ts", import.meta.url));

const blocksOf = (markdown: string): readonly string[] =>
  [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);

const PAGES = ["README.md", "docs/testing.md"];
const pages = new Map(PAGES.map((page) => [page, readFileSync(join(ROOT, page), "utf8")] as const));
const readme = pages.get("README.md") ?? "";
const snippets = [...pages].flatMap(([page, text]) =>
  blocksOf(text).map((code, index) => ({
    file: join(FOLDER, `${page.replace(/\.md$/, "").replace("/", "-").toLowerCase()}-${index + 1}.ts`),
    code,
  })),
);
const servers = snippets.filter(({ code }) => /\.listen\((?:3000|\{ port: 3000 \})\)/.test(code));
const configurations = snippets.filter(({ code }) => code.includes("export const server"));
const isAssertion = ({ code }: { readonly code: string }) =>
  code.includes('from "node:assert/strict"') && !code.includes('from "node:test"');
const assertions = snippets.filter(isAssertion);
const programs = snippets.filter(
  (snippet) => !servers.includes(snippet) && !configurations.includes(snippet) && !isAssertion(snippet),
);

const examples = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .flatMap((file) => {
    const comments = readFileSync(join(ROOT, "src", file), "utf8").replaceAll(/^ *\* ?/gm, "");
    const name = file.replaceAll(/[/.]/g, "-");
    return blocksOf(comments).map((code, index) => ({ file: join(FOLDER, `${name}-${index + 1}.ts`), code }));
  });

const issuer = createIssuer();
const environment = { ...process.env, JWT_PUBLIC_KEY: issuer.publicPem };

beforeAll(() => {
  mkdirSync(FOLDER, { recursive: true });
  // A snippet is a module of its own even where it imports nothing.
  for (const { file, code } of [...snippets, ...examples]) writeFileSync(file, `${code}\nexport {};\n`);
});
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

/** A documented WebSocket answers who may have it, and only below its path. */
async function checkUpgrades(port: number): Promise<void> {
  const open = async (path: string, ...scopes: string[]): Promise<string> => {
    const authorization = `Bearer ${await issuer.token({ scopes })}`;
    const client = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { authorization } });
    const outcome = await new Promise<string>((resolve) => {
      client.on("message", (data: Buffer) => resolve(data.toString()));
      client.on("unexpected-response", (_request, { statusCode }) => resolve(String(statusCode)));
      client.on("error", () => resolve("closed"));
    });
    client.terminate();
    return outcome;
  };
  expect(await open("/agents/web/events", "agents:web:read")).toBe("hello user-1");
  expect(await open("/agents/web/events", "agents:api:read")).toBe("403");
  expect(await open("/agents/web", "agents:web:read")).toBe("closed");
}

describe("the documentation", () => {
  it("has the blocks that these tests are about", () => {
    expect(servers.length).toBeGreaterThanOrEqual(6);
    expect(programs.length).toBeGreaterThanOrEqual(5);
    expect(assertions.length).toBeGreaterThanOrEqual(5);
    expect(configurations.length).toBeGreaterThanOrEqual(7);
    expect(examples.length).toBeGreaterThanOrEqual(7);
  });

  it("compiles, every block of it", () => {
    const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), (file) => ts.sys.readFile(file)) as {
      config: object;
    };
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
    const program = ts.createProgram(
      [...snippets, ...examples].map(({ file }) => file),
      // As most users have it: `process.env.NAME`.
      { ...options, noPropertyAccessFromIndexSignature: false },
    );
    const diagnostics = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
      return `${file?.fileName ?? ""}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
    expect(diagnostics).toEqual([]);
  }, 60_000);

  it.concurrent.each(servers)("serves with $file", async ({ file, code }) => {
    const child = fork(file, {
      execArgv: ["--import", "tsx", "--import", PRELOAD],
      env: environment,
      silent: true,
    });
    const [port] = (await once(child, "message")) as [number];
    try {
      const path = "/agents/web";
      const refused = await ask(port, { path });
      expect(refused.status).toBe(401);
      expect(refused.headers["www-authenticate"]).toBe("Bearer");
      const allowed = await ask(port, { path, token: await issuer.token({ scopes: ["agents:web:read"] }) });
      expect(allowed.status).toBe(200);
      const other = await ask(port, { path, token: await issuer.token({ scopes: ["agents:api:read"] }) });
      expect(other.status).toBe(403);
      if (code.includes('"upgrade"')) await checkUpgrades(port);
    } finally {
      child.kill();
      await once(child, "close");
    }
  });

  it.each(configurations)("configures a server with $file", async ({ file }) => {
    vi.stubEnv("JWT_PUBLIC_KEY", issuer.publicPem);
    const { server } = (await import(file)) as { readonly server: ResourceServer };
    vi.unstubAllEnvs();
    expect([...server.routes].length).toBeGreaterThan(0);
    await server.close();
  });

  // In this process: it takes a second to start another.
  it.each(assertions)("holds what $file asserts", async ({ file }) => {
    await import(file);
  });

  it.concurrent.each(programs)("runs $file to its end", async ({ file, code }) => {
    const child = fork(file, { execArgv: ["--import", "tsx"], env: environment, silent: true });
    let out = "";
    child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
    const [exitCode] = (await once(child, "close")) as [number | null];
    expect(exitCode, out).toBe(0);
    // What a comment says of a printed line is what is printed.
    const told = [...code.matchAll(/^console\.log\(.*; \/\/ (.*)$/gm)].map(([, text]) => text);
    expect(out.split("\n").slice(0, told.length)).toEqual(told);
  });

  it.each([...pages])("names only files that exist in %s", (page, text) => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)[)#]/g)].map(([, target = ""]) => target);
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) expect(existsSync(join(ROOT, page, "..", link)), link).toBe(true);
  });

  it.each([...pages])("names only sections that exist in %s", (page, text) => {
    const anchors = [...text.matchAll(/\]\(([^)\s]*)#([\w-]+)\)/g)].filter(
      ([, at = ""]) => !/^https?:/.test(at),
    );
    expect(anchors.length).toBeGreaterThan(0);
    for (const [, at = "", anchor = ""] of anchors) {
      const target = at === "" ? text : readFileSync(join(ROOT, page, "..", at), "utf8");
      const sections = [...target.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w\s-]/g, "")
          .replaceAll(" ", "-"),
      );
      expect(sections, `${at}#${anchor}`).toContain(anchor);
    }
  });

  it("lists every option, and the default table as it is", async () => {
    const { OPTION_NAMES } = await import("../src/options/shape.ts");
    const { defaultScopeMappings } = await import("scopegate");
    for (const name of OPTION_NAMES) expect(readme, name).toContain(`\`${name}\``);
    const rows = [...readme.matchAll(/^\| `([A-Z]+ \/\S*)` +\| `(.+?)` +\|$/gm)].map(([, key, value]) => [
      key,
      value,
    ]);
    const render = (value: unknown): string =>
      JSON.stringify(value)
        .replace(/^\{"(\w+)":/, "{ $1: ")
        .replace(/\}$/, " }");
    expect(rows).toEqual(Object.entries(defaultScopeMappings).map(([key, value]) => [key, render(value)]));
  });
});
