/** Reads the results in `bench/results`, by benchmark and Node version. */
import { readdirSync, readFileSync } from "node:fs";
import type { BenchmarkResult, Row } from "../benchmark.ts";
import type { Machine } from "../machine.ts";
import type { ServerRow } from "../servers/results.ts";

export type StoredRow = Row & Partial<Omit<ServerRow, keyof Row>>;

export interface StoredResult extends BenchmarkResult, Machine {
  readonly name: string;
  readonly title: string;
  readonly major: number;
  readonly rows: readonly StoredRow[];
}

/** The results of one benchmark, one per Node version, oldest first. */
export interface Series {
  readonly name: string;
  readonly title: string;
  readonly results: readonly StoredResult[];
}

const FOLDER = new URL("../results/", import.meta.url);

/** Returns the results of the named benchmarks in the given order, from full or quick runs. */
export function readSeries(names: readonly string[], isQuick: boolean): readonly Series[] {
  const results = readdirSync(FOLDER)
    .flatMap((file) => readResult(file, isQuick) ?? [])
    .sort((a, b) => a.major - b.major);
  return names.flatMap((name) => {
    const own = results.filter((result) => result.name === name);
    const [first] = own;
    return first ? [{ name, title: first.title, results: own }] : [];
  });
}

function readResult(file: string, isQuick: boolean): StoredResult | undefined {
  const [, major, kind] = /-node(\d+)(-\w+)?\.json$/.exec(file) ?? [];
  if (major === undefined || kind !== (isQuick ? "-quick" : undefined)) return undefined;
  const stored = JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")) as Omit<StoredResult, "major">;
  return { ...stored, major: Number(major) };
}
