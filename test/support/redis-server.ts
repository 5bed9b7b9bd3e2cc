/** Instances of Redis that a test starts and ends. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LONG_CHILD_LIMIT } from "./child-limit.ts";

export const HAS_REDIS_SERVER = spawnSync("redis-server", ["--version"], LONG_CHILD_LIMIT).status === 0;

if (!HAS_REDIS_SERVER)
  console.log("Skipped: the tests that start and end Redis, because redis-server is not installed.");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

export interface RedisInstance {
  readonly port: number;
  readonly url: string;
  readonly process: () => ChildProcess;
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
  /** Starts it again on the same port, without its data. */
  readonly restart: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

/** Starts Redis without persistence; as a replica of another instance, if one is given. */
export async function startRedis(primary?: RedisInstance): Promise<RedisInstance> {
  const folder = mkdtempSync(join(tmpdir(), "scopegate-redis-"));
  const port = await freePort();
  const replicaof = primary ? ["--replicaof", "127.0.0.1", String(primary.port)] : [];
  const settings = [
    "--save",
    "",
    "--appendonly",
    "no",
    "--bind",
    "127.0.0.1",
    "--repl-diskless-sync-delay",
    "0",
  ];
  let child: ChildProcess;
  const start = async () => {
    const args = ["--port", String(port), "--dir", folder, ...settings, ...replicaof];
    const spawned = spawn("redis-server", args, {
      ...LONG_CHILD_LIMIT,
      stdio: ["ignore", "pipe", "inherit"],
    });
    child = spawned;
    for await (const chunk of spawned.stdout) if (String(chunk).includes("Ready to accept")) break;
  };
  const stop = async (signal: NodeJS.Signals = "SIGKILL") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    child.kill("SIGCONT");
    await ended;
  };
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    process: () => child,
    stop,
    restart: start,
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
