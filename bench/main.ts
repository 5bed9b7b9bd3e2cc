/**
 * Runs the benchmarks, prints a table and the budgets of each, and writes them to `bench/results`.
 *
 *     npm run bench                       all benchmarks, which takes about a quarter of an hour
 *     npm run bench -- --quick            about one minute, with a wider spread
 *     npm run bench -- verify routes      these benchmarks
 *     npm run bench -- --check            compares with jose and find-my-way only; exits with 1
 *                                         if a value exceeds 1.5 times its budget
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from "./benchmark.ts";
import { BENCHMARKS } from "./benchmarks.ts";
import { describeMachine } from "./machine.ts";
import type { Order } from "./one.ts";
import { inOwnProcess } from "./own-process.ts";
import { isRegression, renderBudget, renderTable, TOLERANCE } from "./print.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, check: { type: "boolean", default: false } },
});
const unknown = positionals.find((name) => !BENCHMARKS.some((one) => one.name === name));
if (unknown !== undefined) {
  throw new TypeError(
    `There is no benchmark \`${unknown}\`: ${BENCHMARKS.map(({ name }) => name).join(", ")}.`,
  );
}

function write({ name, title }: Benchmark, options: BenchmarkOptions, result: BenchmarkResult): void {
  const kind = options.check ? "-check" : options.quick ? "-quick" : "";
  const file = `results/${name}-node${process.versions.node.split(".")[0] ?? ""}${kind}.json`;
  mkdirSync(new URL("results/", import.meta.url), { recursive: true });
  writeFileSync(
    new URL(file, import.meta.url),
    `${JSON.stringify({ name, title, ...describeMachine(), ...result }, undefined, 2)}\n`,
  );
}

const chosen = BENCHMARKS.filter(({ name, isGuard }) =>
  positionals.length > 0 ? positionals.includes(name) : isGuard || !values.check,
);
let regressions = 0;
for (const benchmark of chosen) {
  const started = performance.now();
  const order: Order = { name: benchmark.name, options: values };
  const result = await inOwnProcess<BenchmarkResult>("one.ts", order);
  write(benchmark, values, result);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`\n${benchmark.title} (median, quartiles; ${seconds} s)\n`);
  if (result.rows.length > 0) console.log(`${renderTable(result.rows)}\n`);
  for (const budget of result.budgets) console.log(renderBudget(budget));
  regressions += result.budgets.filter(isRegression).length;
}
if (values.check) {
  console.log(`\n${regressions} values exceed ${TOLERANCE} times their budget.`);
  if (regressions > 0) process.exitCode = 1;
}
