/** Compiles every code block of the documentation, runs the programs, and compares their answers with the pages. */
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parseConfiguration, type ResourceServer } from "scopegate/complete";
import { WebSocket } from "ws";
import tsup from "../../tsup.config.ts";
import { createResourceServer } from "../support/server.ts";
import {
  compileAll,
  compileApart,
  exportedNames,
  forgetProgram,
  mistakesOf,
  peerOptions,
  removedNames,
} from "./compile.ts";
import { type Block, pageOf, pages, responsesOf, ROOT } from "./markdown.ts";
import { type Cookies, run, send, serve, serveFetch, watchSubscriptions } from "./serve.ts";
import { type Mint, isCommand, type Request, requestsOf } from "./shell.ts";
import {
  examples,
  programs,
  removeSnippets,
  roleOf,
  type Snippet,
  snippets,
  writeSnippets,
} from "./snippets.ts";
import { powershellOf } from "../../site/shell-tabs.ts";
import { type StartedIssuer, startIssuer } from "../tools/cli/start-issuer.ts";
import { folder, scopegate, useFolder } from "../tools/cli/support.ts";
import { createIssuer } from "../support/issuer.ts";
import { CHILD_LIMIT } from "../support/child-limit.ts";

const issuer = createIssuer({ audience: "orders" });
const blocks = pages.flatMap((page) => page.blocks);
const ofLanguage = (...languages: readonly string[]): readonly Block[] =>
  blocks.filter(({ language }) => languages.includes(language));
/** JavaScript of other pages needs files or a browser of the reader. */
const isRun = ({ block }: Snippet): boolean =>
  block?.language === "ts" || block?.page === "docs/start/README.md";
const withRole = (role: ReturnType<typeof roleOf>): readonly Snippet[] =>
  snippets.filter((snippet) => isRun(snippet) && roleOf(snippet) === role);

useFolder();
const keyFile = join(folder, "documentation.pem");

/** `scopegate issuer`, on a free port instead of that of the pages. */
let startedIssuer: StartedIssuer;

/** Runs `scopegate token`, with the key that the servers of the pages accept. */
const mint: Mint = async (args) => {
  const onFreePort = args.map((arg) => (arg === "http://localhost:4400" ? startedIssuer.url : arg));
  const { code, out, notes } = await scopegate(["token", ...onFreePort, "--key", keyFile]);
  expect(code, notes).toBe(0);
  return out.trim();
};

const realFetch = globalThis.fetch;

/** Answers requests to `https://login.example/` inside this process. */
const answerAsIssuer = (url: string, init?: RequestInit): Promise<Response> =>
  url.startsWith("https://login.example/")
    ? Promise.resolve(
        Response.json(
          url.includes("/.well-known/")
            ? { issuer: "https://login.example/", jwks_uri: "https://login.example/keys" }
            : { keys: [issuer.publicJwk] },
        ),
      )
    : realFetch(url, init);

beforeAll(async () => {
  writeSnippets();
  mkdirSync(folder, { recursive: true });
  writeFileSync(keyFile, issuer.privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
  startedIssuer = await startIssuer(keyFile);
  vi.stubEnv("ISSUER", startedIssuer.url);
  vi.stubEnv("JWT_PUBLIC_KEY", issuer.publicPem);
  vi.stubEnv("JWT_SECRET", randomBytes(48).toString("base64"));
  vi.stubEnv("INTROSPECTION_SECRET", "secret");
  vi.stubGlobal("fetch", answerAsIssuer);
});
afterAll(async () => {
  await startedIssuer.stop();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  removeSnippets();
  forgetProgram();
});

/** The other blocks of the same section, which is everything below one heading of the second level. */
const besides = ({ page, section }: Block, ...languages: readonly string[]): readonly Block[] =>
  blocks.filter((one) => one.page === page && one.section === section && languages.includes(one.language));

/** The requests of a section, with the tokens that the page has created so far. */
async function requestsBelow(block: Block): Promise<readonly Request[]> {
  const shell = besides(block, "sh");
  const above = blocks.filter(({ page, language, line }) => {
    return page === block.page && language === "sh" && line < (shell[0]?.line ?? 0);
  });
  const rows = responsesOf(pageOf(block.page));
  const earlier = await requestsOf(above, mint, rows);
  return (await requestsOf([...above, ...shell], mint, rows)).slice(earlier.length);
}

/** The framework of a program, as `Expected` names it. */
const frameworkOf = (code: string): string =>
  (/"scopegate\/(?!audit)(\w+)"/.exec(code)?.[1] ?? "").replace("nest", "nestjs");

/**
 * Sends each request of a section to each server of it. If the page shows two statuses, the last server replaces the
 * first one. Otherwise, all of them must answer in the same way.
 */
async function checkAnswers(
  members: readonly Snippet[],
  block: Block,
  ports: readonly number[],
): Promise<void> {
  const requests = await requestsBelow(block);
  expect(requests.length, `${block.page}:${block.line} shows no request`).toBeGreaterThan(0);
  const answers = ports.map((): string[] => []);
  const isReplacement = requests.some(({ expected }) => expected.statuses.length > 1);
  const jars = ports.map((): Cookies => new Map());
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  for (const request of requests) {
    const { statuses, exceptions, body } = request.expected;
    for (const [index, port] of ports.entries()) {
      const answer = await send(port, request, jars[index]);
      const { name = "", code = "" } = members[index] ?? {};
      const about = `${name}: ${request.text} ${answer.text}`;
      const status = exceptions.get(frameworkOf(code)) ?? statuses[index] ?? statuses[0];
      expect(answer.status, about).toBe(status);
      const isNew = !isReplacement || index === ports.length - 1;
      if (isNew && body !== undefined) expect(JSON.parse(answer.text) as unknown, about).toEqual(body);
      answers[index]?.push(`${answer.head.toLowerCase()}\n${answer.text}`);
    }
  }
  log.mockRestore();
  for (const { code, page, line } of besides(block, "http")) {
    const lines = code.trim().split("\n");
    const isShown = (answer: string) =>
      lines.every((one) => one === "" || answer.includes(one) || answer.includes(lowerName(one)));
    for (const [index, texts] of (isReplacement ? [answers.flat()] : answers).entries())
      expect(texts.some(isShown), `${page}:${line} matches a response of ${members[index]?.name}`).toBe(true);
  }
}

const inAMinute = (): number => Math.floor(Date.now() / 1000) + 60;

const lowerName = (line: string): string => line.toLowerCase();

/** A documented WebSocket opens for callers with the scope, and only at its path. */
async function checkUpgrades(port: number, code: string): Promise<void> {
  const open = async (path: string, ...scopes: string[]): Promise<string> => {
    const authorization = `Bearer ${await issuer.token({ scopes, exp: inAMinute() })}`;
    const client = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { authorization } });
    const outcome = await new Promise<string>((resolve) => {
      client.on("message", (data: Buffer) => resolve(data.toString()));
      client.on("unexpected-response", (_request, { statusCode }) => resolve(String(statusCode)));
      client.on("error", () => resolve("closed"));
    });
    client.terminate();
    return outcome;
  };
  expect(await open("/stores/berlin/events", "stores:berlin:read")).toBe("hello user-1");
  expect(await open("/stores/berlin/events", "stores:oslo:read")).toBe("403");
  if (code.includes('"upgrade"')) expect(await open("/stores/berlin", "stores:berlin:read")).toBe("closed");
}

/** A documented WebSocket that takes its token from the first message. */
async function checkFirstMessage(port: number): Promise<void> {
  const token = await issuer.token({ scopes: ["events:read"], exp: inAMinute() });
  const client = new WebSocket(`ws://127.0.0.1:${port}/live`);
  client.on("open", () => client.send(JSON.stringify({ type: "authenticate", token })));
  expect(String((await once(client, "message"))[0])).toBe("hello user-1");
  client.terminate();
}

/** Whether a program imports the receiver of security events from another block of its page. */
const isEventRoute = (code: string): boolean => code.includes('"./events.js"');

/** A documented route for security events accepts an event as a string, and limits the size of its body. */
async function checkEvents(port: number): Promise<void> {
  const post = async (body: string): Promise<number | undefined> => {
    const headers = { "content-type": "application/secevent+jwt" };
    const sent = realFetch(`http://127.0.0.1:${port}/events`, { method: "POST", headers, body });
    // Node.js closes the connection of a body that is not read to its end.
    return (await sent.catch(() => undefined))?.status;
  };
  const claims = { iss: "https://login.example/", aud: "orders", jti: "event-1", exp: undefined };
  const iat = Math.floor(Date.now() / 1000);
  const event = await issuer.token({ ...claims, iat, events: {} }, { typ: "secevent+jwt" });
  expect(await post(event)).toBe(202);
  // White space around an event is ignored, so only the limit rejects this body.
  expect([undefined, 400, 413]).toContain(await post(event + " ".repeat(65_536)));
}

describe("the code of the documentation", () => {
  it("uses only languages that are checked here", () => {
    const known = ["ts", "js", "json", "sh", "powershell", "http", "text", "yaml"];
    const others = blocks.filter(({ language }) => !known.includes(language));
    expect(others.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
    expect(withRole("server").length).toBeGreaterThanOrEqual(12);
    expect(withRole("program").length).toBeGreaterThanOrEqual(5);
    expect(withRole("configuration").length).toBeGreaterThanOrEqual(10);
    expect(examples.length).toBeGreaterThanOrEqual(7);
  });

  it("compiles in every block and every example of a comment", () => {
    expect([...mistakesOf(compileAll()), ...mistakesOf(compileApart())]).toEqual([]);
  }, 300_000);

  it("documents every exported name", () => {
    const names = exportedNames(compileAll());
    expect([...names].filter(([, comment]) => comment === "").map(([name]) => name)).toEqual([]);
    expect(names.size).toBeGreaterThan(200);
  });

  it("lists removed names that the package no longer has", () => {
    const names = exportedNames(compileAll());
    expect(names.has("src/index.ts ResourceServer.revoke")).toBe(true);
    expect(removedNames.length).toBeGreaterThan(50);
    for (const [cell = "", was = ""] of removedNames) {
      const name = cell.replaceAll(/`|server\./g, "");
      const keys = [...was.matchAll(/`scopegate(?:\/([\w-]+))?`/g)].map(([, entry = "index"]) => {
        const file = Object.entries(tsup.entry).find(([key]) => key === entry)?.[1];
        return `${file} ${name}`;
      });
      if (cell.startsWith("`server.")) keys.push(`src/index.ts ResourceServer.${name}`);
      expect(keys).not.toEqual([]);
      expect(
        keys.filter((key) => names.has(key)),
        cell,
      ).toEqual([]);
    }
  });

  it("names every option of the libraries that the page of migration covers", () => {
    const { prose } = pageOf("docs/migrate/README.md");
    const forgotten = [...peerOptions(compileAll())].flatMap(([library, options]) => {
      const isNamed = (name: string) => new RegExp(`\`[^\`]*\\b${name}\\b[^\`]*\``).test(prose);
      return options.filter((name) => !isNamed(name)).map((name) => `${library}: ${name}`);
    });
    expect(forgotten).toEqual([]);
  });

  it("shows valid JSON, with configurations and payloads that are accepted", async () => {
    for (const { code, page, line } of ofLanguage("json")) {
      const value = JSON.parse(code) as Record<string, unknown>;
      const about = `${page}:${line}`;
      if ("service_id" in value)
        expect(
          () => createResourceServer({ verificationKeys: [issuer.publicPem], ...parseConfiguration(value) }),
          about,
        ).not.toThrow();
      // Other audiences: providers.test.ts checks the payloads of providers.
      if (typeof value["iat"] !== "number" || page.startsWith("docs/providers/")) continue;
      const now = (value["iat"] + 1) * 1000;
      const server = createResourceServer({
        audience: "orders",
        verificationKeys: [issuer.publicPem],
        now: () => now,
      });
      const principal = await server.authenticate(await issuer.token(value));
      expect(principal.claims, about).toEqual(value);
    }
  });

  it("shows only commands that exist", () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      readonly name: string;
      readonly scripts: object;
      readonly dependencies: object;
      readonly devDependencies: object;
    };
    const packages = [
      manifest.name,
      ...Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }),
    ];
    const known = {
      packages: new Set(packages),
      scripts: new Set(Object.keys(manifest.scripts)),
      hasPath: (path: string) => existsSync(join(ROOT, path)),
    };
    const mistakes = ofLanguage("sh").flatMap(({ code, page, line }) =>
      code
        .replaceAll("\\\n", " ")
        .split("\n")
        .filter((command) => !isCommand(command, known))
        .map((command) => `${page}:${line}: ${command}`),
    );
    expect(mistakes).toEqual([]);
  });
});

describe("the commands of the documentation", () => {
  it("are shown in their form for PowerShell, where it is another one", () => {
    const shown = pageOf("README.md").blocks.filter(({ language }) => language === "powershell");
    expect(shown.length).toBeGreaterThan(0);
    const forms = pageOf("README.md").blocks.filter(({ language }) => language === "sh");
    for (const { code } of shown) expect(forms.map((block) => powershellOf(block.code))).toContain(code);
    // The site shows them for all pages. What PowerShell does not understand is converted.
    const left = ofLanguage("sh").filter(({ code }) => /^\w+=|^export| < | \\$/m.test(powershellOf(code)));
    expect(left.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  });

  it("quote addresses that a shell would read as a pattern or as several commands", () => {
    const unquoted = ofLanguage("sh").filter(({ code }) => /^curl .* http[^ "'\n]*[?&*[;]/m.test(code));
    expect(unquoted.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  });

  it("have a request for every row of a table of responses", async () => {
    for (const page of pages.filter((one) => responsesOf(one).length > 0)) {
      const requests = page.blocks.filter(({ language }) => language === "sh");
      const rows = responsesOf(page);
      const withoutLast = requestsOf(requests, mint, rows.slice(0, -1));
      await expect(withoutLast, page.path).rejects.toThrow("The next row is missing");
    }
  });
});

describe("a documented server", () => {
  const servers = withRole("server").flatMap((snippet) =>
    snippet.block ? [{ ...snippet, block: snippet.block }] : [],
  );
  const nameOf = ({ page, section }: Block): string => `${page} # ${section}`;
  const sections = [...new Set(servers.map(({ block }) => nameOf(block)))].map(
    (name) => [name, servers.filter(({ block }) => nameOf(block) === name)] as const,
  );

  it.each(sections)("responds as the page shows: %s", async (_name, members) => {
    const [first] = members;
    if (!first) return;
    const served = [];
    try {
      for (const { file } of members) served.push(await serve(pathToFileURL(file).href));
      const ports = served.map(({ port }) => port);
      await checkAnswers(members, first.block, ports);
      for (const [index, { code }] of members.entries()) {
        const port = ports[index] ?? 0;
        if (/"upgrade"|guardUpgrades|fastify\/websocket/.test(code)) await checkUpgrades(port, code);
      }
    } finally {
      for (const { close } of served) await close();
    }
  });
});

describe("an example of a route for security events", () => {
  const routes = programs.filter(({ code }) => isEventRoute(code));

  it("exists for every framework", () => {
    const frameworks = routes.map(({ code }) => /"scopegate\/(\w+)"/.exec(code)?.[1]);
    expect([...frameworks].sort()).toEqual(["express", "fastify", "fetch", "hono", "koa", "node"]);
  });

  it.each(routes)("accepts an event, and limits its size: $name", async ({ file, code }) => {
    const { href } = pathToFileURL(file);
    const { port, close } = await (code.includes("scopegate/fetch") ? serveFetch(href) : serve(href));
    await checkEvents(port);
    await close();
  });
});

const programOf = (path: string): Snippet => {
  const found = programs.find(({ name }) => name === `examples/${path}`);
  if (!found) throw new Error(`There is no examples/${path}.`);
  return found;
};

describe("an example of a page", () => {
  const serveProgram = (path: string) => serve(pathToFileURL(programOf(path).file).href);

  const START = ["docs/start/README.md", "A complete server"] as const;
  const MCP = ["docs/guides/mcp.md", "A complete server"] as const;

  it.each<[file: string, page: string, section: string, start?: typeof serve]>([
    ["browsers/server.mts", "docs/guides/browser-sessions.md", "A whole application"],
    ["complete/express.mts", ...START],
    ["complete/koa.mts", ...START],
    ["complete/fastify.mts", ...START],
    ["complete/hono.mts", ...START],
    ["complete/nestjs.mts", ...START],
    ["complete/node.mts", ...START],
    ["complete/fetch.mts", ...START],
    ["mcp/express.mjs", ...MCP],
    ["mcp/fastify.mjs", ...MCP],
    ["mcp/hono.mjs", ...MCP],
    ["mcp/fetch.mjs", ...MCP, serveFetch],
    ["complete/swagger-ui.mts", "docs/guides/openapi.md", "Serve Swagger UI"],
    ["complete/metrics.mts", "docs/guides/metrics.md", "Prometheus"],
    ["complete/decision-log.mts", "docs/guides/decision-log.md", "Write a log"],
    ["complete/deployment.mts", "docs/guides/deployment.md", "At boot"],
    ["complete/nestjs-platform.mts", "docs/guides/nestjs.md", "A whole application"],
    ["complete/trpc.mts", "docs/guides/trpc.md", "A complete server"],
    ["complete/revocation.mts", "docs/guides/revocation.md", "In one process"],
    ["complete/dpop.mts", "docs/guides/bound-tokens.md", "Protect a server"],
    ["complete/tenants.mts", "docs/guides/conditions.md", "Tenants, owners and step-up"],
    ["complete/sveltekit.ts", "docs/guides/fetch-hosts.md", "SvelteKit", serveFetch],
    ["sockets/guard-upgrades.mts", "docs/guides/sockets.md", "Libraries that listen for upgrades themselves"],
    ["sockets/events.mts", "docs/guides/sockets.md", "Close a connection when its token expires"],
  ])("responds as the page shows: %s, %s # %s", async (path, page, section, start = serve) => {
    const block = ofLanguage("sh").find((one) => one.page === page && one.section === section);
    if (!block) throw new Error(`${page} has no requests in ${section}.`);
    const program = programOf(path);
    const { port, close } = await start(pathToFileURL(program.file).href);
    await checkAnswers([program], block, [port]);
    if (program.code.includes("guardUpgrades")) await checkUpgrades(port, program.code);
    await close();
  });

  it("has the table of the MCP server that the page shows", () => {
    const [shown] = snippets.filter(
      ({ block }) => block?.section === "A complete server" && block.page === "docs/guides/mcp.md",
    );
    const table = /scopeMappings: \{.*?\n {2}\},\n/s.exec(shown?.code ?? "")?.[0];
    expect(table).toBeDefined();
    expect(programOf("mcp/service.mjs").code).toContain(table);
  });

  it.each([
    ["complete/deployment.mts", "deployment"],
    ["complete/nestjs-platform.mts", "nestjs"],
    ["complete/trpc.mts", "trpc"],
    ["complete/revocation.mts", "revocation"],
    ["complete/dpop.mts", "bound-tokens"],
    ["sockets/events.mts", "sockets"],
    ["sockets/guard-upgrades.mts", "sockets"],
  ])("has the lines that the page shows: %s", (path, name) => {
    const withoutIndent = (code: string): string => code.replaceAll(/^ +/gm, "");
    const program = withoutIndent(programOf(path).code);
    const shown = pageOf(`docs/guides/${name}.md`)
      .blocks.filter(({ language }) => language === "text")
      .filter(({ code }) => code.split("\n").length > 2 && program.includes(withoutIndent(code)));
    expect(shown.length).toBe(1);
  });

  it("checks uploads before their bodies", async () => {
    const { port, close } = await serveProgram("complete/uploads.mts");
    const avatars = await issuer.token({ scopes: ["avatars:upload"], exp: inAMinute() });
    const imports = await issuer.token({ scopes: ["imports:create"], exp: inAMinute() });
    const upload = (
      method: string,
      path: string,
      token: string,
      content: string,
      ...more: (readonly [string, string])[]
    ) => {
      const headers = [["Authorization", `Bearer ${token}`] as const, ...more];
      const asked = { method, path, headers, content };
      const cookies = { sends: false, keeps: false };
      return send(port, { text: path, asked, cookies, expected: { statuses: [], exceptions: new Map() } });
    };
    const wait = ["Expect", "100-continue"] as const;
    expect((await upload("PUT", "/avatars/user-1", avatars, "an avatar")).text).toBe('{"bytes":9}');
    expect((await upload("PUT", "/avatars/user-2", avatars, "an avatar")).status).toBe(403);
    expect((await upload("PUT", "/avatars/user-1", avatars, "x".repeat(30))).status).toBe(413);
    expect((await upload("POST", "/imports", imports, "rows", wait)).text).toBe('{"bytes":4}');
    expect((await upload("POST", "/imports", avatars, "rows", wait)).status).toBe(403);
    await close();
  });

  it("needs the Origin of the page for a cookie, and not for a token in the header", async () => {
    const { port, close } = await serveProgram("browsers/header-or-cookie.mts");
    const token = await issuer.token({ scopes: ["orders:write"], exp: inAMinute() });
    const statusFor = async (path: string, headers: Readonly<Record<string, string>>): Promise<number> =>
      (await realFetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers })).status;
    const authorization = `Bearer ${token}`;
    const cookie = `__Host-access_token=${token}`;
    const origin = "http://localhost:3000";
    expect(await statusFor("/api/orders", { authorization })).toBe(201);
    expect(await statusFor("/api/orders", { cookie })).toBe(403);
    expect(await statusFor("/api/orders", { cookie, origin })).toBe(201);
    expect(await statusFor("/api/orders", { cookie, authorization })).toBe(400);
    expect(await statusFor("/api/login", { authorization: "Bearer x" })).toBe(403);
    await close();
  });

  it("is a revocation endpoint, where callers revoke only their own tokens", async () => {
    const { port, close } = await serveProgram("complete/revocation-endpoint.mts");
    const [mine, second, other] = await Promise.all(
      ["u1", "u1", "u2"].map((sub, index) => issuer.token({ sub, jti: `token-${index}`, exp: inAMinute() })),
    );
    const revoke = async (caller: string | undefined, token?: string): Promise<number> => {
      const body = token === undefined ? null : new URLSearchParams({ token });
      const headers = { authorization: `Bearer ${caller}` };
      const init = { method: "POST", headers, body };
      return (await realFetch(`http://127.0.0.1:${port}/revoke`, init)).status;
    };
    expect(await revoke(mine)).toBe(400);
    expect(await revoke(mine, other)).toBe(400);
    expect(await revoke(mine, second)).toBe(200);
    expect(await revoke(second, mine)).toBe(401);
    await close();
  });

  it.each(["sockets/upgrade.mts", "sockets/fastify.mts"])(
    "opens WebSockets only for callers with the scope: %s",
    async (path) => {
      const { port, close } = await serveProgram(path);
      await checkUpgrades(port, programOf(path).code);
      await close();
    },
  );

  it("takes the token from the first message", async () => {
    const { port, close } = await serveProgram("sockets/first-message.mts");
    await checkFirstMessage(port);
    await close();
  });

  it("checks every request of Socket.IO", async () => {
    const { port, close } = await serveProgram("sockets/socketio.mts");
    const open = async (...scopes: string[]): Promise<number> => {
      const authorization = `Bearer ${await issuer.token({ scopes, exp: inAMinute() })}`;
      const url = `http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`;
      return (await realFetch(url, { headers: scopes.length === 0 ? {} : { authorization } })).status;
    };
    expect([await open(), await open("stores:berlin:read"), await open("chat:read")]).toEqual([
      401, 403, 200,
    ]);
    await close();
  });
});

describe("a documented handler of the Fetch standard", () => {
  it.each(withRole("fetch"))("responds as the page shows: $name", async (member) => {
    const { file, block } = member;
    const { port, close } = await serveFetch(pathToFileURL(file).href);
    if (block) await checkAnswers([member], block, [port]);
    await close();
  });

  it("responds to events of API Gateway as the recipe for Lambda says", async () => {
    const [recipe] = programs.filter(({ code }) => code.includes("rawQueryString"));
    const { handler } = (await import(pathToFileURL(recipe?.file ?? "").href)) as {
      readonly handler: (event: object) => Promise<Readonly<Record<string, unknown>>>;
    };
    const invoke = async (method: string, scopes: readonly string[], event: object = {}) => {
      const result = await handler({
        version: "2.0",
        routeKey: "GET /stores/{store_id}",
        pathParameters: { store_id: "berlin" },
        rawPath: "/stores/berlin",
        rawQueryString: "",
        headers: {
          host: "api.example",
          authorization: `Bearer ${await issuer.token({ scopes, exp: inAMinute() })}`,
        },
        requestContext: { http: { method } },
        isBase64Encoded: false,
        ...event,
      });
      const body = JSON.parse(Buffer.from(String(result["body"]), "base64").toString()) as object;
      return { ...result, body };
    };

    expect(
      await invoke("GET", ["stores:berlin:read"], { rawQueryString: "full=1", cookies: ["a=1"] }),
    ).toEqual({
      statusCode: 200,
      headers: { "content-type": "application/json" },
      cookies: ["seen=1"],
      body: { pathname: "/stores/berlin", caller: "user-1", body: "1" },
      isBase64Encoded: true,
    });
    const body = Buffer.from("hello").toString("base64");
    const order = { routeKey: "POST /orders", rawPath: "/orders", isBase64Encoded: true, body };
    expect(await invoke("POST", ["orders:write"], order)).toMatchObject({ body: { body: "hello" } });
    expect(await invoke("GET", ["stores:berlin:read"], { routeKey: "$default" })).toMatchObject({
      statusCode: 200,
    });
    const rewritten = { pathParameters: { store_id: "oslo" } };
    expect(await invoke("GET", ["stores:berlin:read"], rewritten)).toMatchObject({ statusCode: 403 });
    expect(await invoke("GET", ["stores:oslo:read"])).toMatchObject({
      statusCode: 403,
      headers: { "www-authenticate": expect.stringContaining("insufficient_scope") as string },
      cookies: [],
      body: { code: "scope_insufficient" },
    });
    const twice = { headers: { authorization: "Bearer a.b.c,Bearer d.e.f" } };
    expect(await invoke("GET", [], twice)).toMatchObject({ statusCode: 400 });
    expect(await invoke("GET", [], { headers: {} })).toMatchObject({ statusCode: 401 });
  });
});

describe("a documented configuration", () => {
  it.each(withRole("configuration"))("creates a server: $name", async ({ file }) => {
    const stopWatching = watchSubscriptions();
    const made = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
    stopWatching()();
    for (const one of Object.values(made)) {
      if (typeof one !== "object" || one === null || !("routes" in one)) continue;
      const server = one as ResourceServer;
      expect(server.health().status).not.toBe("unavailable");
      await server.close();
    }
  });
});

describe("a documented program", () => {
  it.each(withRole("program"))("prints what the page shows: $name", async ({ file, code, block }) => {
    const out = await run(pathToFileURL(file).href);
    const shownLines = [...code.matchAll(/^ *console\.log\(.*; \/\/ (.*)$/gm)].map(([, text]) => text);
    expect(out.split("\n").slice(0, shownLines.length)).toEqual(shownLines);
    const [shown] = block ? besides(block, "text").filter(({ line }) => line > block.line) : [];
    if (shown) expect(out).toContain(shown.code.trim());
  });

  it.each(withRole("test").filter(({ code }) => code.includes('"node:test"')))(
    "passes as a test: $name",
    async ({ file }) => {
      const child = fork(file, { ...CHILD_LIMIT, execArgv: ["--import", "tsx"], silent: true });
      const [exitCode] = (await once(child, "close")) as [number | null];
      expect(exitCode).toBe(0);
    },
  );
});
