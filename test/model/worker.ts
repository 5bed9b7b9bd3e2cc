/** A thread that compares the tables of one batch after another. */
import { parentPort } from "node:worker_threads";
import { Comparison, type Counts, type Violation } from "./compare.ts";
import { compareRandomly } from "./random-comparison.ts";
import { choiceAt, countChoices, type Universe, UNIVERSES } from "./universe.ts";

/** Some choices of keys of a universe. */
export interface Batch {
  readonly universe: number;
  readonly number: number;
}

export interface BatchResult {
  readonly counts: Counts;
  readonly violations: readonly Violation[];
}

/** Random tables. */
export interface RandomBatch {
  readonly seed: number;
  readonly decisions: number;
}

const BATCH_SIZE = 8;

export const countBatches = (universe: Universe): number => Math.ceil(countChoices(universe) / BATCH_SIZE);

const comparisons = new Map<number, Comparison>();

function compareBatch(batch: Batch): BatchResult {
  const universe = UNIVERSES[batch.universe];
  if (!universe) throw new Error(`There is no universe ${batch.universe}.`);
  const comparison = comparisons.get(batch.universe) ?? new Comparison(universe);
  comparisons.set(batch.universe, comparison);
  comparison.reset();
  const first = batch.number * BATCH_SIZE;
  const end = Math.min(first + BATCH_SIZE, countChoices(universe));
  for (let number = first; number < end; number += 1) comparison.compareTables(choiceAt(universe, number));
  return { counts: comparison.counts, violations: comparison.violations };
}

// Weaker overrides in random tables are warnings.
process.removeAllListeners("warning");

async function compare(batch: Batch | RandomBatch): Promise<void> {
  const isRandom = "seed" in batch;
  parentPort?.postMessage(
    isRandom ? await compareRandomly(batch.seed, batch.decisions) : compareBatch(batch),
  );
}

parentPort?.on("message", (batch: Batch | RandomBatch) => void compare(batch));
