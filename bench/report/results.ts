/** Reads the results in `bench/results`, by benchmark and version of Node. */
import { readdirSync, readFileSync } from "node:fs";
import { type BenchmarkResult, type Row } from "../benchmark.ts";
import { type Machine } from "../machine.ts";
import { type ServerRow } from "../servers/results.ts";

export type StoredRow = Row & Partial<Omit<ServerRow, keyof Row>>;

export interface StoredResult extends BenchmarkResult, Machine {
  readonly name: string;
  readonly title: string;
  readonly major: number;
  readonly rows: readonly StoredRow[];
}

/** The results of one benchmark for each version of Node, oldest first. */
export interface Series {
  readonly name: string;
  readonly title: string;
  readonly results: readonly StoredResult[];
}

const FOLDER = new URL("../results/", import.meta.url);

/** Reads the results of the named benchmarks, in this order, from full or quick runs. */
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
