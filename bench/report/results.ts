/** Reads the results in `bench/results`. */
import { readdirSync, readFileSync } from "node:fs";
import type { BenchmarkResult, Row } from "../benchmark.ts";
import type { Machine } from "../machine.ts";
import type { ServerRow } from "../servers/results.ts";

export type StoredRow = Row & Partial<Omit<ServerRow, keyof Row>>;

export interface StoredResult extends BenchmarkResult, Machine {
  readonly name: string;
  readonly title: string;
  readonly rows: readonly StoredRow[];
}

const FOLDER = new URL("../results/", import.meta.url);

/** Returns the result of each named benchmark with the oldest version of Node.js, in the given order. */
export function readResults(names: readonly string[], isQuick: boolean): readonly StoredResult[] {
  const files = readdirSync(FOLDER).flatMap((file) => {
    const [, name, major, kind] = /^(\w+)-node(\d+)(-\w+)?\.json$/.exec(file) ?? [];
    return major === undefined || kind !== (isQuick ? "-quick" : undefined) ? [] : { file, name, major };
  });
  return names.flatMap((name) => {
    const [oldest] = files
      .filter((stored) => stored.name === name)
      .toSorted((a, b) => Number(a.major) - Number(b.major));
    return oldest ? [JSON.parse(readFileSync(new URL(oldest.file, FOLDER), "utf8")) as StoredResult] : [];
  });
}
