/** MCP clients that are programs: they print the URL at which the user signs in, and wait for the browser. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { LONG_CHILD_LIMIT } from "../../support/child-limit.ts";
import { listen } from "../../support/http.ts";
import { CLIENT_ID, signIn, STRONG } from "../../adapters/mcp/support/authorization-server.ts";
import { type Call, type McpClient, type SdkClient, send, type Session, type Target } from "./clients.ts";

const findProgram = (path: string): string =>
  fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));

/** Signs in at each URL that a program prints, and returns to the program, as a browser does. */
function browse(output: Readable): void {
  const seen = new Set<string>();
  let text = "";
  output.on("data", (data: Buffer) => {
    text += data.toString();
    // Whitespace follows a URL that is complete.
    for (const [, url = ""] of text.matchAll(/(http:\/\/127\.0\.0\.1:\d+\/auth\?\S+)\s/g)) {
      if (seen.has(url)) continue;
      seen.add(url);
      // Without a redirect to the program, the user sees the error page of the authorization server.
      void signIn(new URL(url)).then(visit, () => undefined);
    }
  });
}

/** A program may print its URL before it listens at the callback: no user is as fast as this one. */
async function visit(callback: URL): Promise<void> {
  const latest = performance.now() + 30_000;
  while (performance.now() < latest)
    try {
      await fetch(callback);
      return;
    } catch {
      await new Promise(setImmediate);
    }
}

/** Programs keep their files in this folder, and find no browser. */
const environment = (folder: string): Record<string, string> => ({
  HOME: folder,
  PATH: "",
  BROWSER: "none",
  MCP_REMOTE_CONFIG_DIR: folder,
  MCP_STORAGE_DIR: folder,
  MCP_INSPECTOR_SECRET_STORE: "file",
  MCP_INSPECTOR_SECRET_FILE: join(folder, "secrets.json"),
  MCP_AUTO_OPEN_ENABLED: "true",
});

async function findPort(): Promise<number> {
  const { port, close } = await listen(createServer());
  await close();
  return port;
}

const MCP_REMOTE_PROGRAM = findProgram("mcp-remote/dist/proxy.js");

async function openMcpRemote(flags: readonly string[], target: Target): Promise<Session> {
  const { url, isDynamic = false } = target;
  const folder = await mkdtemp(join(tmpdir(), "scopegate-mcp-remote-"));
  const port = String(await findPort());
  const known = ["--static-oauth-client-info", JSON.stringify({ client_id: CLIENT_ID })];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MCP_REMOTE_PROGRAM, url, port, "--host", "127.0.0.1", ...(isDynamic ? [] : known), ...flags],
    env: environment(folder),
    stderr: "pipe",
  });
  const output = transport.stderr as Readable;
  browse(output);
  const ended = once(output, "end");
  const client = new Client({ name: "test", version: "1.0.0" }) as unknown as SdkClient;
  return {
    call: (call) => (call.method === "initialize" ? client.connect(transport) : send(client, call)),
    close: async () => {
      // A client that could not connect has begun to close its transport, without waiting for the program to end.
      await client.close();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const MCP_REMOTE: McpClient = {
  name: "mcp-remote",
  isInstalled: existsSync(MCP_REMOTE_PROGRAM),
  open: (target) => openMcpRemote([], target),
};

/** It can be configured to ask for a login that is strong enough. */
export const MCP_REMOTE_STRONG: McpClient = {
  ...MCP_REMOTE,
  open: (target) =>
    openMcpRemote(["--authorize-param", `acr_values=${STRONG}`, "--authorize-param", "max_age=60"], target),
};

const INSPECTOR_PROGRAM = findProgram("@modelcontextprotocol/inspector/clients/cli/build/index.js");

/** The options of the Inspector for a call. */
function flagsOf({ method, params = {} }: Call): readonly string[] {
  const { name, uri, arguments: args } = params as Readonly<Record<string, string | undefined>>;
  if (uri !== undefined) return ["--uri", uri];
  if (name === undefined) return [];
  if (method === "prompts/get") return ["--prompt-name", name];
  return ["--tool-name", name, "--tool-args-json", JSON.stringify(args)];
}

/** The Inspector runs once for each call, and keeps its tokens in a file. */
async function openInspector({ url, isDynamic = false }: Target): Promise<Session> {
  const folder = await mkdtemp(join(tmpdir(), "scopegate-inspector-"));
  const callbackUrl = `http://127.0.0.1:${await findPort()}/oauth/callback`;
  const known = isDynamic ? [] : ["--client-id", CLIENT_ID];
  const run = (call: Call): Promise<string> =>
    new Promise((resolve, reject) => {
      const flags = ["--server-url", url, "--transport", "http", "--callback-url", callbackUrl, ...known];
      const child = execFile(
        process.execPath,
        [INSPECTOR_PROGRAM, ...flags, "--method", call.method, ...flagsOf(call)],
        { ...LONG_CHILD_LIMIT, env: environment(folder) },
        (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stdout)),
      );
      child.stdin?.end("y\n");
      if (child.stderr) browse(child.stderr);
    });
  return {
    call: (call) => run(call.method === "initialize" ? { method: "tools/list" } : call),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

export const INSPECTOR: McpClient = {
  name: "MCP Inspector",
  isInstalled: existsSync(INSPECTOR_PROGRAM),
  open: openInspector,
};
