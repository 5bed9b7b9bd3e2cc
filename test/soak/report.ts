import { printTable } from "../support/table.ts";
import { type KeyEvents } from "./key-events.ts";
import { inMb, type ResourceWatch } from "./resources.ts";
import { type Tally } from "./tally.ts";

export interface Outcome {
  readonly seconds: number;
  readonly tally: Tally;
  readonly resources: ResourceWatch;
  readonly events: KeyEvents;
  readonly fetches: number;
  readonly fetchLimit: number;
}

export function printReport({ seconds, tally, resources, events, fetches, fetchLimit }: Outcome): void {
  printTable(
    ["responses", "requests", "200", "401", "503", "other", "in a window", "violations"],
    ...tally.rows().map(([service, kind, { requests, byStatus, inWindow, violations }]) => {
      const counted = [200, 401, 503].map((status) => byStatus.get(status) ?? 0);
      const other = requests - counted.reduce((sum, count) => sum + count, 0);
      return [`${service}, ${kind}`, requests, ...counted, other, inWindow, violations];
    }),
  );
  printTable(["events", "fetched", "rotated", "failed", "stale"], ...events.rows());
  const heap = resources.heap();
  const sockets = resources.sockets();
  const lateMs = resources.lateMs();
  printTable(
    ["total", ""],
    ["fetches of the keys", `${fetches} (at most ${fetchLimit})`],
    ["heap, first and last quarter", `${inMb(heap.first)} -> ${inMb(heap.last)}`],
    ["sockets, first and last quarter", `${sockets.first} -> ${sockets.last}`],
    ["event loop delay, p99 and maximum", `${lateMs.p99} ms, ${lateMs.max} ms`],
    ["responses per second", (tally.requests() / seconds).toFixed(0)],
    ["latency, p50 and p99", `${tally.latency.percentile(50)} ms, ${tally.latency.percentile(99)} ms`],
    ["seconds", seconds.toFixed(0)],
  );
}
