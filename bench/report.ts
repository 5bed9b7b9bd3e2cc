/**
 * Writes the summary `docs/reference/benchmarks.md` with its figure, all tables to `bench/RESULTS.md`, and the budgets
 * in `bench/BUDGETS.md`, from the results in `bench/results`.
 *
 *     npm run bench:report                from full runs
 *     npm run bench:report -- --quick     from quick runs, to preview the page
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { format, resolveConfig } from "prettier";
import { BENCHMARKS } from "./benchmarks.ts";
import { renderBudgets } from "./report/markdown.ts";
import { METHOD, SUMMARY } from "./report/method.ts";
import { addedCosts, renderAdded, renderOpening } from "./report/opening.ts";
import { drawAdded, drawRoutes } from "./report/plots.ts";
import { readResults, type StoredResult } from "./report/results.ts";
import { renderSection, SECTIONS } from "./report/sections.ts";

const ROOT = new URL("../", import.meta.url);
const BUDGETS = /(?<=<!-- budgets: written by npm run bench:report -->\n).*(?=<!-- end of budgets -->)/s;

async function write(file: string, text: string): Promise<void> {
  const path = fileURLToPath(new URL(file, ROOT));
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }));
}

function writeFigure(name: string, svg: string): void {
  mkdirSync(new URL("docs/benchmarks/", ROOT), { recursive: true });
  writeFileSync(new URL(`docs/benchmarks/${name}.svg`, ROOT), svg);
}

function find(results: readonly StoredResult[], name: string): StoredResult {
  const result = results.find((candidate) => candidate.name === name);
  if (!result) throw new Error(`Run \`npm run bench -- ${name}\` first: there are no results yet.`);
  return result;
}

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const results = readResults(
  BENCHMARKS.map(({ name }) => name),
  values.quick,
);
const requests = find(results, "requests");
const added = addedCosts(requests);
writeFigure("requests", drawAdded(added));
writeFigure("routes", drawRoutes(find(results, "routes")));
const lookup = "![CPU time of a route lookup by the size of the table](../docs/benchmarks/routes.svg)";
const sections = Object.keys(SECTIONS)
  .flatMap((name) => results.filter((result) => result.name === name))
  .map((result) => renderSection(result, result.name === "routes" ? lookup : ""));
await write(
  "docs/reference/benchmarks.md",
  [
    "# Benchmarks",
    "![CPU time that authentication adds to a request, by framework and library](../benchmarks/requests.svg)",
    renderOpening(requests, find(results, "verify")),
    renderAdded(added),
    SUMMARY,
  ].join("\n\n"),
);
await write("bench/RESULTS.md", ["# Results of the benchmarks", ...sections, METHOD].join("\n\n"));
const budgets = readFileSync(new URL("bench/BUDGETS.md", ROOT), "utf8");
if (!BUDGETS.test(budgets)) throw new Error("bench/BUDGETS.md has no place for the budgets.");
await write(
  "bench/BUDGETS.md",
  budgets.replace(BUDGETS, () => `\n${renderBudgets(results)}\n\n`),
);
