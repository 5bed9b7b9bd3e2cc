/** Instances of Redis that a test starts and ends. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LONG_CHILD_LIMIT, runChild } from "./child-limit.ts";
import { reportMissing } from "./missing.ts";

export const HAS_REDIS_SERVER = spawnSync("redis-server", ["--version"], LONG_CHILD_LIMIT).status === 0;

if (!HAS_REDIS_SERVER) reportMissing("the tests that start and end Redis", "redis-server isn't installed");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  // The bus of a cluster uses the port 10,000 above.
  return port < 50_000 ? port : freePort();
}

export interface RedisInstance {
  readonly port: number;
  readonly url: string;
  readonly process: () => ChildProcess;
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
  /** Starts it again on the same port: with its data if it has persistence, without them otherwise. */
  readonly restart: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

/** Starts Redis without persistence, unless `settings` say otherwise; as a replica of another instance, if one is given. */
export async function startRedis(
  primary?: Pick<RedisInstance, "port">,
  settings: readonly string[] = [],
): Promise<RedisInstance> {
  const replicaof = primary ? ["--replicaof", "127.0.0.1", String(primary.port)] : [];
  const basic = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];
  return startServer([...basic, ...replicaof, ...settings]);
}

/** Writes every command to the disk before its reply, so that a killed server has lost nothing. */
export const DURABLE = ["--appendonly", "yes", "--appendfsync", "always"] as const;

/** Starts a sentinel that lets a replica take over half a second after its primary does not answer. */
export async function startSentinel(primary: Pick<RedisInstance, "port">): Promise<RedisInstance> {
  const folder = mkdtempSync(join(tmpdir(), "scopegate-sentinel-"));
  const file = join(folder, "sentinel.conf");
  const lines = [
    `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
    "sentinel down-after-milliseconds main 500",
    "sentinel failover-timeout main 3000",
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  return startServer([], [file, "--sentinel"], "+monitor");
}

/** Starts a cluster of three primaries, which keep their data. */
export async function startCluster(...more: readonly string[]): Promise<readonly RedisInstance[]> {
  const settings = [...DURABLE, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", ...more];
  const nodes = await Promise.all([1, 2, 3].map(() => startRedis(undefined, settings)));
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const made = runChild("redis-cli", ["--cluster", "create", ...addresses, "--cluster-yes"], {});
  if (!made.stdout.includes("All 16384 slots covered")) throw new Error(made.stdout + made.stderr);
  // Each node learns it from the others.
  for (const { port } of nodes) while (!isClusterReady(port)) await new Promise(setImmediate);
  return nodes;
}

const isClusterReady = (port: number): boolean =>
  runChild("redis-cli", ["-p", String(port), "cluster", "info"], {}).stdout.includes("cluster_state:ok");

async function startServer(
  settings: readonly string[],
  first: readonly string[] = [],
  readyText = "Ready to accept",
): Promise<RedisInstance> {
  const folder = mkdtempSync(join(tmpdir(), "scopegate-redis-"));
  const port = await freePort();
  let child: ChildProcess;
  const start = async () => {
    const args = [...first, "--port", String(port), "--dir", folder, "--bind", "127.0.0.1", ...settings];
    const spawned = spawn("redis-server", args, {
      ...LONG_CHILD_LIMIT,
      stdio: ["ignore", "pipe", "inherit"],
    });
    child = spawned;
    for await (const chunk of spawned.stdout.iterator({ destroyOnReturn: false }))
      if (String(chunk).includes(readyText)) break;
    // Read on, so that its log does not fill the pipe.
    spawned.stdout.resume();
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
