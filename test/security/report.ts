/**
 * Runs more attacks than the tests and prints how many were tried and how many succeeded. Exits with 1 if any
 * succeeded. `--full` sends every spelling of every target.
 */
import type { Summary } from "../routing/harness.ts";
import { DOCUMENTED, refusedSpellings } from "../routing/refused-spellings.ts";
import { runRouting } from "../routing/run.ts";
import { printTable, type Row } from "../support/table.ts";
import { runTenants } from "./hostile-tenants.ts";
import { runTokens } from "./tokens.ts";

const started = performance.now();
const routing = await runRouting({ scale: process.argv.includes("--full") ? "full" : "medium" });
const tokens = await runTokens();
const tenants = await runTenants({ tries: 10_000, seed: 54 });
const seconds = ((performance.now() - started) / 1000).toFixed(0);

const total = (summaries: readonly Summary[], count: (summary: Summary) => number): number =>
  summaries.reduce((sum, summary) => sum + count(summary), 0);

const rowOf = (name: string, summaries: readonly Summary[]): Row => [
  name,
  summaries.length,
  total(summaries, ({ requests }) => requests),
  total(summaries, ({ bypasses }) => bypasses.length),
  total(summaries, ({ serverErrors }) => serverErrors.length),
  total(summaries, ({ canonicalRefusals }) => canonicalRefusals.length),
];

/** Returns `Express 4` for `Express 4, mounted router`. */
const frameworkOf = ({ configuration }: Summary): string => configuration.split(",")[0] ?? configuration;

const frameworks = [...new Set(routing.map(frameworkOf))];
const undocumented = [...refusedSpellings(routing)].filter(([kind]) => !DOCUMENTED.includes(kind));
const { falseAccepts, falseRejects } = tokens;

printTable(
  ["routes", "configurations", "requests", "bypasses", "5xx", "canonical refusals"],
  ...frameworks.map((name) =>
    rowOf(
      name,
      routing.filter((summary) => frameworkOf(summary) === name),
    ),
  ),
  rowOf("all", routing),
);
printTable(
  ["tokens", "tried", "false accepts", "false rejects"],
  ["all", tokens.tokens, falseAccepts.length, falseRejects.length],
);
printTable(
  ["attacks of a tenant", "tried", "successes"],
  ...tenants.map(({ kind, tried, successes }): Row => [kind, tried, successes.length]),
);
console.log(`${seconds} s.`);

const failures = [
  ...routing.flatMap(({ configuration, bypasses, serverErrors, canonicalRefusals }) =>
    [...bypasses, ...serverErrors, ...canonicalRefusals].map(
      (finding) => `${configuration}: ${JSON.stringify(finding)}`,
    ),
  ),
  ...undocumented.map(
    ([kind, { frameworks, example }]) =>
      `refused, but not documented: ${kind} (${[...frameworks].join(", ")}, such as ${example})`,
  ),
  ...falseAccepts.map((name) => `accepted: ${name}`),
  ...falseRejects.map((name) => `rejected: ${name}`),
  ...tenants.flatMap(({ kind, successes }) => successes.map((success) => `tenant, ${kind}: ${success}`)),
];
for (const failure of failures) console.error(failure);
process.exitCode = failures.length > 0 || routing.length === 0 || tokens.tokens === 0 ? 1 : 0;
