/** Renders tables as text. */

type Row = readonly string[];

/** Pads the cells of each column to its longest cell, and to `minimum`. */
function padCells(rows: readonly Row[], minimum = 0): readonly Row[] {
  const widthOf = (column: number) => Math.max(minimum, ...rows.map((row) => row[column]?.length ?? 0));
  const widths = (rows[0] ?? []).map((_, column) => widthOf(column));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
}

export const renderColumns = (rows: readonly Row[]): string =>
  padCells(rows)
    .map((row) => row.join("  ").trimEnd())
    .join("\n");

/** Renders a Markdown table, padded as formatters do. The first row is the heading. */
export function renderMarkdown(rows: readonly Row[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const [head = [], ...others] = padCells(cells, 3);
  const line = head.map((cell) => "-".repeat(cell.length));
  return [head, line, ...others].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
