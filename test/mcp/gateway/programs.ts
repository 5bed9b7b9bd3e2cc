/** The starter of a gateway, and an MCP server in Python behind it, each in its own process. */
import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { LONG_CHILD_LIMIT } from "../../support/child-limit.ts";
import { reportMissing } from "../../support/missing.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const GATEWAY = join(ROOT, "examples/starters/mcp-gateway/server.mjs");
const PRELOAD = fileURLToPath(new URL("loopback.ts", import.meta.url));
const PYTHON_SERVER = fileURLToPath(new URL("server.py", import.meta.url));

export const HAS_PYTHON = spawnSync("python3", ["--version"], LONG_CHILD_LIMIT).status === 0;
if (!HAS_PYTHON) reportMissing("the tests of the MCP gateway", "python3 is not installed");

/** Ends a process at once. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** A request that the MCP server received. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: unknown;
}

export interface PythonServer {
  readonly url: string;
  /** The requests so far, and forgets them. */
  readonly takeReceived: () => Promise<readonly Received[]>;
  /** The methods of the requests whose client left before their response had ended. */
  readonly left: string[];
  /** Lets one running call end. */
  readonly endCall: () => void;
  readonly stop: () => Promise<void>;
}

export async function startPythonServer(): Promise<PythonServer> {
  const child = spawn("python3", [PYTHON_SERVER], {
    ...LONG_CHILD_LIMIT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const received: Received[] = [];
  const left: string[] = [];
  const synced = new EventEmitter();
  const port = await new Promise<number>((resolve, reject) => {
    lines.on("line", (line) => {
      const report = JSON.parse(line) as { port?: number; left?: string; received?: Received; synced?: true };
      if (report.port !== undefined) resolve(report.port);
      if (report.left !== undefined) left.push(report.left);
      if (report.received) received.push(report.received);
      if (report.synced) synced.emit("synced");
    });
    child.once("exit", () => reject(new Error("The MCP server did not start.")));
  });
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    takeReceived: async () => {
      child.stdin.write("sync\n");
      await once(synced, "synced");
      return received.splice(0);
    },
    left,
    endCall: () => child.stdin.write("end a call\n"),
    stop: () => kill(child),
  };
}

export interface Gateway {
  readonly port: number;
  readonly url: string;
  readonly errors: () => string;
  /** Asks it to end, and returns its exit code. */
  readonly end: () => Promise<number | null>;
  readonly stop: () => Promise<void>;
}

/** The starter imports the package by its name. This configuration leads to its source. */
function writeConfig(folder: string): string {
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8")) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly string[]>> };
  };
  const paths = Object.fromEntries(
    Object.entries(compilerOptions.paths).map(([name, files]) => [
      name,
      files.map((file) => join(ROOT, file)),
    ]),
  );
  const file = join(folder, "tsconfig.json");
  writeFileSync(file, JSON.stringify({ compilerOptions: { paths }, files: [GATEWAY] }));
  return file;
}

export async function startGateway(folder: string, env: Readonly<Record<string, string>>): Promise<Gateway> {
  const child = fork(GATEWAY, {
    ...LONG_CHILD_LIMIT,
    execArgv: ["--import", import.meta.resolve("tsx"), "--import", PRELOAD],
    env: { ...process.env, PORT: "0", TSX_TSCONFIG_PATH: writeConfig(folder), ...env },
    silent: true,
  });
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => (errors += String(chunk)));
  const exited = once(child, "exit") as Promise<[number | null]>;
  const port = await Promise.race([
    once(child, "message").then(([message]) => Number(message)),
    exited.then(() => Promise.reject(new Error(`The gateway did not start: ${errors}`))),
  ]);
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    errors: () => errors,
    end: async () => {
      child.kill("SIGTERM");
      const [code] = await exited;
      return code;
    },
    stop: () => kill(child),
  };
}
