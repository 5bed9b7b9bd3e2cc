/** The types that benchmarks share with the runner (`main.ts`). */

/** The extent of a run. */
export interface BenchmarkOptions {
  /** Fewer rounds and cases: about ten seconds instead of a minute or two. */
  readonly quick: boolean;
  /** The check for regressions: only runs what its budgets compare. */
  readonly check: boolean;
}

/** One row of the table: the median of the rounds, with the lower and the upper quartile. */
export interface Row {
  /** The section of the table, such as an algorithm or a framework. */
  readonly group: string;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly low?: number;
  readonly high?: number;
  /** The ratio to the reference of the group: the median of the ratios of all rounds. */
  readonly ratio?: number;
  readonly note?: string;
}

/** A limit and the measured value. By default, both are ratios. */
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
  /** The name on the command line and in the file name of the results. */
  readonly name: string;
  readonly title: string;
  /** Whether `--check` runs it. */
  readonly isGuard: boolean;
  run(options: BenchmarkOptions): Promise<BenchmarkResult>;
}

/** Creates a budget, which is met if the measured value is at most the limit. */
export function createBudget(what: string, measured: number, limit: number, unit = "x"): Budget {
  return { what, limit, measured, unit, met: measured <= limit };
}
