/** Interleaved rounds: every server in turn for each load, so that whatever else the machine does meets them alike. */
import { type Drive, drive } from "./drive.ts";
import { type Load } from "./loads.ts";
import { type ServerProcess } from "./server-process.ts";

export interface Plan {
  readonly rounds: number;
  /** Before the first round, for each load: a function is compiled when it has run often enough. */
  readonly warmUp: Drive;
  /** Before a load that is remembered, in each round: what was remembered the last time has ended. */
  readonly remember: Drive;
  /**
   * One request at a time: none waits for another, and every answer wakes a client that waits for it. With more, the
   * client of a slow server sleeps where that of a fast one does not, and waking it is charged to the server's write.
   */
  readonly counted: Drive;
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
  loads: readonly Load[],
  plan: Plan,
): Promise<readonly Measurement[]> {
  const all = loads.flatMap((load) =>
    servers.map((server): Measurement => ({ server, load, cpuUs: [], latencyMs: [] })),
  );
  for (const { server, load } of all) await drive(server, load, plan.warmUp);
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const { server, load, cpuUs, latencyMs } of all) {
      if (load.isRemembered && remembers(server)) await drive(server, load, plan.remember);
      const before = await server.cpuTime();
      const durations = await drive(server, load, plan.counted);
      cpuUs.push(((await server.cpuTime()) - before) / plan.counted.requests);
      latencyMs.push(...durations);
    }
  }
  return all;
}

const remembers = ({ variant }: ServerProcess): boolean =>
  variant === "scopegate" || variant.endsWith("cache");
