import { readFileSync, writeFileSync } from "node:fs";
import type { Mutant } from "./mutants.ts";

export interface Result {
  /** The mutant's id. */
  readonly id: string;
  /** The first test that failed, or `null` if none did. */
  readonly killedBy: string | null;
}

interface Survivor {
  readonly id: string;
  readonly file: string;
  readonly original: string;
  readonly replacement: string;
  /** Why it survives. Written by hand, and kept when the report is written again. */
  readonly reason: string;
}

interface Report {
  readonly seed: number;
  /** One in so many mutants was tried. */
  readonly every: number;
  readonly folders: Readonly<Record<string, { mutants: number; killed: number; percent: number }>>;
  readonly survivors: readonly Survivor[];
}

const FILE = new URL("report.json", import.meta.url);
const UNKNOWN = "not examined";

export function survivorsOf(
  mutants: readonly Mutant[],
  results: ReadonlyMap<string, Result>,
): readonly Mutant[] {
  return mutants.filter(({ id }) => results.get(id)?.killedBy === null);
}

/** Whether the report has a reason for a survivor. */
export function isExplained({ id }: Mutant): boolean {
  const survivor = readReport()?.survivors.find((each) => each.id === id);
  return survivor !== undefined && survivor.reason !== UNKNOWN;
}

/** Writes report.json, with the reasons of the report that it replaces. */
export function writeReport({
  seed,
  every,
  sample,
  results,
}: {
  seed: number;
  every: number;
  sample: readonly Mutant[];
  results: ReadonlyMap<string, Result>;
}): void {
  const before = readReport();
  const reasons = new Map(before?.survivors.map(({ id, reason }) => [id, reason]));
  const tried = sample.filter(({ id }) => results.has(id));
  const survivors = survivorsOf(tried, results);
  const folders: Record<string, { mutants: number; killed: number; percent: number }> = {};
  for (const mutant of tried) {
    const folder = folderOf(mutant);
    const { mutants, killed } = folders[folder] ?? { mutants: 0, killed: 0 };
    const sum = { mutants: mutants + 1, killed: killed + (survivors.includes(mutant) ? 0 : 1) };
    folders[folder] = { ...sum, percent: Math.round((1000 * sum.killed) / sum.mutants) / 10 };
  }
  const report: Report = {
    ...{ seed, every, folders },
    survivors: survivors.map(({ id, file, original, replacement }) => ({
      ...{ id, file, original, replacement },
      reason: reasons.get(id) ?? UNKNOWN,
    })),
  };
  writeFileSync(FILE, `${JSON.stringify(report, null, 2)}\n`);
}

function readReport(): Report | undefined {
  try {
    return JSON.parse(readFileSync(FILE, "utf8")) as Report;
  } catch {
    return undefined;
  }
}

/** For example `core/policy`. What lies directly in `core/` counts as `core`. */
function folderOf({ file }: Mutant): string {
  const [, area = "", folder = ""] = file.split("/");
  return folder.endsWith(".ts") ? area : `${area}/${folder}`;
}
