/** What every benchmark hands to the runner (`main.ts`). */

/** How long a run may take, and what for. */
export interface BenchmarkOptions {
  /** Fewer rounds and cases: about ten seconds instead of a minute or two. */
  readonly quick: boolean;
  /** The guard against regressions: only what it compares, with the peers it names. */
  readonly check: boolean;
}

/** One line of the table: a median, and between which quartiles the rounds lay. */
export interface Row {
  /** The part of the table, such as an algorithm or a framework. */
  readonly group: string;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly low?: number;
  readonly high?: number;
  /** The value over that of the group's reference, the median of the rounds' ratios. */
  readonly ratio?: number;
  readonly note?: string;
}

/** A limit and what was measured against it; by default both are ratios. */
export interface Budget {
  readonly what: string;
  readonly limit: number;
  readonly measured: number;
  readonly unit: string;
  readonly met: boolean;
}

export interface BenchmarkResult {
  readonly rows: readonly Row[];
  readonly budgets: readonly Budget[];
}

export interface Benchmark {
  /** Names it on the command line and in the file of its results. */
  readonly name: string;
  readonly title: string;
  /** Whether `--check` runs it. */
  readonly isGuard: boolean;
  run(options: BenchmarkOptions): Promise<BenchmarkResult>;
}

/** A budget is met at its limit. */
export function createBudget(what: string, measured: number, limit: number, unit = "x"): Budget {
  return { what, limit, measured, unit, met: measured <= limit };
}
