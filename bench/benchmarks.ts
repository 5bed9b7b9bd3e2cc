import { type Benchmark } from "./benchmark.ts";
import { verify } from "./verify.ts";

/** Every benchmark, in the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [verify];
