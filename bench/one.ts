/** Runs one benchmark for `main.ts`. */
import type { BenchmarkOptions } from "./benchmark.ts";
import { BENCHMARKS } from "./benchmarks.ts";
import { readInput, sendResult } from "./own-process.ts";

export interface Order {
  readonly name: string;
  readonly options: BenchmarkOptions;
}

const { name, options } = readInput() as Order;
const benchmark = BENCHMARKS.find((one) => one.name === name);
if (!benchmark) throw new TypeError(`Unknown benchmark \`${name}\`. Run \`npm run bench -- NAME\`.`);
sendResult(await benchmark.run(options));
