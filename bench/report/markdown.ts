/** Renders the tables of the report. */
import { formatNumber, withUnit } from "../print.ts";
import type { StoredResult, StoredRow } from "./results.ts";

type Cells = readonly (string | undefined)[];

export function table(head: Cells, lines: readonly Cells[]): string {
  const line = (cells: Cells) =>
    `| ${cells.map((cell) => (cell ?? "").replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...lines.map(line)].join("\n");
}

/** Renders every budget with its measured value. */
export function renderBudgets(all: readonly StoredResult[]): string {
  const lines = all.flatMap(({ name, budgets }) =>
    budgets.map(({ what, limit, measured, unit, met }) => [
      `${name}: ${what}`,
      withUnit(limit, unit),
      `${withUnit(measured, unit)} ${met ? "met" : "**missed**"}`,
    ]),
  );
  return table(["budget", "at most", "measured"], lines);
}

/** Renders one line for each row: the median, and the ratio to the reference of the group. */
export function renderRows(rows: readonly StoredRow[]): string {
  const lines = rows.map(({ group, name, value, unit, ratio, note }) => [
    group,
    name,
    `${formatNumber(value)} ${unit}`.trim(),
    ratio === undefined ? "" : `${formatNumber(ratio)}x`,
    note,
  ]);
  const isEmpty = (column: number): boolean => lines.every((cells) => (cells[column] ?? "") === "");
  const columns = ["case", "what", "median", "ratio", "note"].flatMap((title, index) =>
    isEmpty(index) ? [] : { title, index },
  );
  return table(
    columns.map(({ title }) => title),
    lines.map((cells) => columns.map(({ index }) => cells[index])),
  );
}

/** Where a row is in a table of several columns. */
export interface Place {
  readonly line: readonly string[];
  readonly column: string;
}

/** Renders a line for each library and a column for each group. `placeOf` leaves rows out. */
export function renderPivot(
  rows: readonly StoredRow[],
  titles: readonly string[],
  placeOf: (row: StoredRow) => Place | undefined,
  render: (row: StoredRow) => string = ({ value }) => formatNumber(value),
): string {
  const lines = new Map<string, { readonly line: readonly string[]; readonly cells: Map<string, string> }>();
  const columns = new Set<string>();
  for (const row of rows) {
    const place = placeOf(row);
    if (!place) continue;
    const key = place.line.join("\n");
    const entry = lines.get(key) ?? { line: place.line, cells: new Map<string, string>() };
    entry.cells.set(place.column, render(row));
    lines.set(key, entry);
    columns.add(place.column);
  }
  return table(
    [...titles, ...columns],
    [...lines.values()].map(({ line, cells }) => [
      ...line,
      ...[...columns].map((column) => cells.get(column)),
    ]),
  );
}

/** Keeps the most expensive row of each kind: there are hundreds of hostile requests. */
export function worstRows(rows: readonly StoredRow[]): readonly StoredRow[] {
  const worst = new Map<string, StoredRow>();
  for (const { group, name, value, unit, note } of rows) {
    const [kind = group, shape] = group.split(": ");
    if (value <= (worst.get(kind)?.value ?? -Infinity)) continue;
    const described = shape === undefined ? name : `${shape}, ${name}`;
    worst.set(kind, { group: kind, name: described, value, unit, ...(note !== undefined && { note }) });
  }
  return [...worst.values()];
}
