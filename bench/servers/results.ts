/** The table and the budgets of the loopback servers. */
import { type Budget, createBudget, type Row } from "../benchmark.ts";
import { medianOf, quantile } from "../compare.ts";
import { GARBAGE, MANY_TOKENS, ONE_TOKEN } from "./loads.ts";
import type { Measurement } from "./measure.ts";
import { FRAMEWORKS, type ServerKind } from "./server-process.ts";

/** The value is what authentication adds. For a server without authentication it is the whole CPU time. */
export interface ServerRow extends Row {
  readonly framework: ServerKind;
  readonly load: string;
  readonly isBaseline: boolean;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export function toServerRows(measurements: readonly Measurement[]): readonly ServerRow[] {
  const rows: ServerRow[] = [];
  for (const framework of FRAMEWORKS)
    for (const load of new Set(measurements.map((one) => one.load.name))) {
      const group = measurements.filter(
        (one) => one.server.framework === framework && one.load.name === load,
      );
      const baseline = group.find(({ server }) => server.variant === "no auth");
      if (!baseline) throw new Error(`There is no ${framework} server without auth.`);
      rows.push(...group.map((one) => toRow(one, baseline)));
    }
  return rows;
}

function toRow({ server, load, cpuUs, latencyMs }: Measurement, baseline: Measurement): ServerRow {
  const isBaseline = cpuUs === baseline.cpuUs;
  const without = (round: number) => baseline.cpuUs[round] ?? Number.NaN;
  const values = isBaseline ? cpuUs : cpuUs.map((us, round) => us - without(round));
  const p50Ms = medianOf(latencyMs);
  const p99Ms = quantile(latencyMs, 0.99);
  return {
    group: `${server.framework}, ${load.name}`,
    name: server.variant,
    value: medianOf(values),
    unit: isBaseline ? "us" : "us+",
    low: quantile(values, 0.25),
    high: quantile(values, 0.75),
    ratio: medianOf(cpuUs.map((us, round) => us / without(round))),
    note: `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`,
    framework: server.framework,
    load: load.name,
    isBaseline,
    p50Ms,
    p99Ms,
  };
}

/** Compares what scopegate adds with what a peer adds, but at least one microsecond. */
export function judge(rows: readonly ServerRow[]): readonly Budget[] {
  const added = (framework: ServerKind, load: string, names?: (name: string) => boolean): number =>
    Math.min(
      ...rows
        .filter((row) => row.framework === framework && row.load === load && !row.isBaseline)
        .filter(({ name }) => (names ? names(name) : name !== "scopegate"))
        .map(({ value }) => value),
    );
  const ratio = (framework: ServerKind, load: string, names?: (name: string) => boolean): number =>
    added(framework, load, (name) => name === "scopegate") / Math.max(1, added(framework, load, names));
  const budgets: Budget[] = [];
  const limit = (what: string, measured: number, most: number) => {
    if (Number.isFinite(measured)) budgets.push(createBudget(what, measured, most));
  };
  const one = (framework: ServerKind, peer: string, most: number) => {
    limit(
      `${framework}, one token: added cost against ${peer}`,
      ratio(framework, ONE_TOKEN, (name) => name === peer),
      most,
    );
  };
  one("express", "express-jwt", 0.15);
  one("koa", "koa-jwt", 0.15);
  one("fastify", "@fastify/jwt, cache", 0.33);
  // Handlers of the Fetch standard have no peer.
  for (const framework of FRAMEWORKS.filter((name) => name !== "fetch")) {
    const uncached = ratio(
      framework,
      MANY_TOKENS,
      (name) => name !== "scopegate" && !name.endsWith(", cache"),
    );
    limit(`${framework}, 10,000 tokens: added cost against the cheapest peer without a cache`, uncached, 0.4);
    const garbage = ratio(framework, GARBAGE);
    limit(`${framework}, garbage: added cost against the cheapest peer`, garbage, 0.3);
  }
  return budgets;
}
