/**
 * Writes `docs/reference/benchmarks.md` and its figures from the results in `bench/results`.
 *
 *     npm run bench:report                from full runs
 *     npm run bench:report -- --quick     from quick runs, to preview the page
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { format, resolveConfig } from "prettier";
import { fileURLToPath } from "node:url";
import { BENCHMARKS } from "./benchmarks.ts";
import { renderBudgets, renderMachines, renderRows } from "./report/markdown.ts";
import { METHOD } from "./report/method.ts";
import { drawRoutes, drawServers } from "./report/plots.ts";
import { readSeries, type Series, type StoredResult } from "./report/results.ts";

interface Figure {
  readonly caption: string;
  readonly draw: (result: StoredResult) => string;
}

const FIGURES: Readonly<Partial<Record<string, Figure>>> = {
  servers: { caption: "CPU time that authentication adds to a request", draw: drawServers },
  routes: { caption: "CPU time of a route lookup by the size of the table", draw: drawRoutes },
};

const docs = new URL("../docs/", import.meta.url);
const target = fileURLToPath(new URL("reference/benchmarks.md", docs));

/** Draws the figure of the newest Node version. */
function writeFigure({ name, results }: Series): string {
  const figure = FIGURES[name];
  const newest = results.at(-1);
  if (!figure || !newest) return "";
  mkdirSync(new URL("benchmarks/", docs), { recursive: true });
  writeFileSync(new URL(`benchmarks/${name}.svg`, docs), figure.draw(newest));
  return `![${figure.caption}](../benchmarks/${name}.svg)\n\n${figure.caption}, Node ${newest.major}.\n\n`;
}

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const all = readSeries(
  BENCHMARKS.map(({ name }) => name),
  values.quick,
);
if (all.length === 0) throw new Error("Run `npm run bench` first: there are no results yet.");
const sections = all.map((series) => `## ${series.title}\n\n${writeFigure(series)}${renderRows(series)}\n`);
const text = [
  "# Benchmarks\n",
  "`npm run bench:matrix` measures, `npm run bench:report` writes this page.\n",
  `## Budgets\n\n${renderBudgets(all)}\n`,
  `## Machine\n\n${renderMachines(all)}\n`,
  METHOD,
  ...sections,
].join("\n");
const options = { ...(await resolveConfig(target)), filepath: target };
writeFileSync(target, await format(text, options));
