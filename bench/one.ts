/** Runs one benchmark in a process of its own, so that none of them finds code warmed up or a heap filled by another. */
import { type BenchmarkOptions } from "./benchmark.ts";
import { BENCHMARKS } from "./benchmarks.ts";

const [name, options] = process.argv.slice(2);
const benchmark = BENCHMARKS.find((one) => one.name === name);
if (!benchmark || options === undefined) throw new TypeError("Write `npm run bench -- NAME`.");
const result = await benchmark.run(JSON.parse(options) as BenchmarkOptions);
process.send?.(result, () => process.exit());
