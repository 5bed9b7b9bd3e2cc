/** The interface between a benchmark and the runner (`main.ts`). */

/** Options of the command line. */
export interface BenchmarkOptions {
  /** Run fewer rounds and cases: seconds instead of minutes. */
  readonly quick: boolean;
  /** Compare only with the peers that guard against regressions. */
  readonly check: boolean;
}

/** One line of the table: the median of the rounds, with the lower and the upper quartile. */
export interface Row {
  /** The part of the table, such as an algorithm or a framework. */
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

/** A limit and the measured value. Both are ratios unless `unit` says otherwise. */
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
  /** Whether `--check` runs this benchmark. */
  readonly isGuard: boolean;
  run(options: BenchmarkOptions): Promise<BenchmarkResult>;
}

/** A measured value that equals the limit meets the budget. */
export function createBudget(what: string, measured: number, limit: number, unit = "x"): Budget {
  return { what, limit, measured, unit, met: measured <= limit };
}
