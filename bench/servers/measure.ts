/** Interleaved rounds: every server in turn, so that whatever else the machine does meets them alike. */
import { type Drive, drive } from "./drive.ts";
import { type Load } from "./loads.ts";
import { type ServerProcess } from "./server-process.ts";

export interface Plan {
  readonly rounds: number;
  /** Before the first round: a function is compiled when it has run often enough. */
  readonly warmUp: Drive;
  /** Before a load that is remembered, in each round: what was remembered the last time has ended. */
  readonly remember: Drive;
  /** For the CPU time: enough at once that the server has always something to do. */
  readonly counted: Drive;
  /** For the latency: one request at a time, so that none waits for another. */
  readonly timed: Drive;
}

export interface Measurement {
  readonly server: ServerProcess;
  readonly load: Load;
  /** CPU time of the server per request, in microseconds, round by round. */
  readonly cpuUs: number[];
  /** Of every round, in milliseconds. */
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
      if (load.isRemembered && remembers(server)) await drive(server, load, plan.remember);
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
 * Keeps this process from sleeping until it is told to: the kernel charges the waking of a client to the write of the
 * server that answers it, and the client of a slow server sleeps where that of a fast one does not.
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

const remembers = ({ variant }: ServerProcess): boolean =>
  variant === "scopegate" || variant.endsWith("cache");
