/** Renders the tables of the report, with a column for each Node version. */
import { formatNumber, withUnit } from "../print.ts";
import type { Machine } from "../machine.ts";
import type { Series, StoredResult } from "./results.ts";

type Cells = readonly (string | undefined)[];

function table(head: Cells, lines: readonly Cells[]): string {
  const line = (cells: Cells) =>
    `| ${cells.map((cell) => (cell ?? "").replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...lines.map(line)].join("\n");
}

const versionsOf = (results: readonly StoredResult[]): readonly string[] =>
  results.map(({ major }) => `Node ${major}`);

export function renderMachines(all: readonly Series[]): string {
  const machines = new Map<string, Machine>();
  for (const { results } of all) for (const result of results) machines.set(result.node, result);
  const lines = [...machines.values()]
    .sort((a, b) => a.node.localeCompare(b.node))
    .map(({ node, cpu, cores, os, arch }) => [node, cpu, `${cores}`, `${os}, ${arch}`]);
  return table(["Node", "CPU", "cores", "OS"], lines);
}

/** Renders every budget with the measured value of each Node version. */
export function renderBudgets(all: readonly Series[]): string {
  const majors = [...new Set(all.flatMap(({ results }) => results.map(({ major }) => major)))];
  majors.sort((a, b) => a - b);
  const lines = all.flatMap(({ name, results }) => {
    const budgets = results.flatMap((result) => result.budgets);
    return [...new Map(budgets.map((budget) => [budget.what, budget])).values()].map(
      ({ what, limit, unit }) => [
        `${name}: ${what}`,
        withUnit(limit, unit),
        ...majors.map((major) => {
          const own = results.find((result) => result.major === major);
          const budget = own?.budgets.find((one) => one.what === what);
          return budget && `${withUnit(budget.measured, budget.unit)} ${budget.met ? "met" : "**missed**"}`;
        }),
      ],
    );
  });
  return table(["", "at most", ...majors.map((major) => `Node ${major}`)], lines);
}

/** Renders the rows of one benchmark: median, quartiles, and the ratio to the reference. */
export function renderRows({ results }: Series): string {
  const keyOf = ({ group, name }: { readonly group: string; readonly name: string }) => `${group}\n${name}`;
  const keys = new Map(results.flatMap(({ rows }) => rows.map((row) => [keyOf(row), row] as const)));
  const lines = [...keys].map(([key, { group, name, unit }]) => [
    group,
    name,
    unit,
    ...results.map(({ rows }) => {
      const row = rows.find((one) => keyOf(one) === key);
      if (!row) return undefined;
      const spread =
        row.low === undefined ? "" : ` [${formatNumber(row.low)} - ${formatNumber(row.high ?? row.low)}]`;
      const ratio = row.ratio === undefined ? "" : ` ${formatNumber(row.ratio)}x`;
      return `${formatNumber(row.value)}${spread}${ratio}${row.note === undefined ? "" : ` (${row.note})`}`;
    }),
  ]);
  return table(["", "", "", ...versionsOf(results)], lines);
}
