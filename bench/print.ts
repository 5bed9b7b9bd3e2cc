/** Renders tables and budgets for the terminal. */
import type { Budget, Row } from "./benchmark.ts";

/** A value above this multiple of its budget is a regression. A smaller excess can come from a busy machine. */
export const TOLERANCE = 1.5;

export function renderTable(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  const lines: string[] = [];
  let group: string | undefined;
  for (const row of rows) {
    if (row.group !== group) lines.push(`  ${row.group}`);
    ({ group } = row);
    const spread =
      row.low === undefined ? "" : `${formatNumber(row.low)} - ${formatNumber(row.high ?? row.low)}`;
    const ratio = row.ratio === undefined ? "" : `${formatNumber(row.ratio)}x`;
    const cells = [
      row.name.padEnd(width),
      formatNumber(row.value).padStart(9),
      row.unit.padEnd(5),
      spread.padStart(17),
    ];
    lines.push(`    ${[...cells, ratio.padStart(9), row.note ?? ""].join("  ")}`.trimEnd());
  }
  return lines.join("\n");
}

export const renderBudget = ({ what, limit, measured, unit, met }: Budget): string =>
  `  ${met ? "met   " : "MISSED"}  ${what}: ${withUnit(measured, unit)}, at most ${withUnit(limit, unit)}`;

export const isRegression = ({ measured, limit }: Budget): boolean => !(measured <= limit * TOLERANCE);

export const withUnit = (value: number, unit: string): string =>
  unit === "x" ? `${formatNumber(value)}x` : `${formatNumber(value)} ${unit}`;

/** Three significant digits, with separators between thousands. */
export function formatNumber(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  if (value === 0) return "0";
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(Math.abs(value) >= 0.1 ? 2 : 3);
}
