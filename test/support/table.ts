/** One row of a printed table. The first row is the heading, and the first column is left-aligned. */
export type Row = readonly (string | number)[];

export function printTable(...rows: readonly Row[]): void {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => String(row[column] ?? "").length)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? String(cell).padEnd(widths[0] ?? 0) : String(cell).padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
  console.log(`\n${lines.join("\n")}\n`);
}
