/** Measures servers over loopback in interleaved rounds, so that other programs on the machine slow all of them alike. */
import { type Drive, drive } from "./drive.ts";
import { type Load, MANY_TOKENS } from "./loads.ts";
import type { ServerProcess } from "./server-process.ts";

export interface Plan {
  readonly rounds: number;
  /** Before the first round: V8 optimizes a function only after many calls. */
  readonly warmUp: Drive;
  /** Before each round with many tokens: the cached tokens may have expired since the last round. */
  readonly remember: Drive;
  /** For the CPU time, with enough connections to keep the server busy. */
  readonly counted: Drive;
  /** For the latency, with one request at a time, so that no request waits for another. */
  readonly timed: Drive;
}

export interface Measurement {
  readonly server: ServerProcess;
  readonly load: Load;
  /** CPU time of the server per request, in microseconds, one sample per round. */
  readonly cpuUs: number[];
  /** In milliseconds. */
  readonly latencyMs: number[];
}

export async function measure(
  servers: readonly ServerProcess[],
  load: Load,
  plan: Plan,
): Promise<readonly Measurement[]> {
  const all = servers.map((server): Measurement => ({ server, load, cpuUs: [], latencyMs: [] }));
  for (const { server } of all) await drive(server, load, plan.warmUp);
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const { server, cpuUs, latencyMs } of all) {
      if (load.name === MANY_TOKENS && hasCache(server)) await drive(server, load, plan.remember);
      const sleep = stayAwake();
      const before = await server.cpuTime();
      await drive(server, load, plan.counted);
      cpuUs.push(((await server.cpuTime()) - before) / plan.counted.requests);
      latencyMs.push(...(await drive(server, load, plan.timed)));
      sleep();
    }
  }
  return all;
}

/**
 * Keeps this process from sleeping until the returned function is called. The kernel charges the server for waking up a
 * sleeping client, and a client sleeps more often when its server is slow.
 */
function stayAwake(): () => void {
  let isAwake = true;
  const turn = () => {
    if (isAwake) setImmediate(turn);
  };
  turn();
  return () => {
    isAwake = false;
  };
}

const hasCache = ({ variant }: ServerProcess): boolean =>
  variant === "scopegate" || variant.endsWith("cache");
