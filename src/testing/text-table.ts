/** One column: its heading, a line each, and its cells from the top. */
export interface Column {
  readonly heading: readonly string[];
  readonly cells: readonly string[];
}

/**
 * Columns side by side, each as wide as its widest text. What does not fit into a width goes on below, the first column
 * repeated: a line that is too long to read is no help in a snapshot.
 */
export function renderTable(first: Column, others: readonly Column[], width: number): string {
  const blocks: Column[][] = [];
  let left = 0;
  for (const column of others) {
    left -= widthOf(column) + GAP.length;
    const block = blocks.at(-1);
    if (block && left >= 0) {
      block.push(column);
      continue;
    }
    blocks.push([column]);
    left = width - widthOf(first) - GAP.length - widthOf(column);
  }
  return blocks.map((block) => renderBlock([first, ...block])).join("\n\n");
}

const GAP = "  ";

const linesOf = ({ heading, cells }: Column): readonly string[] => [...heading, ...cells];

const widthOf = (column: Column): number => Math.max(...linesOf(column).map(({ length }) => length));

function renderBlock(columns: readonly Column[]): string {
  const padded = columns.map((column) => linesOf(column).map((line) => line.padEnd(widthOf(column))));
  const [head = []] = padded;
  return head
    .map((_, row) =>
      padded
        .map((lines) => lines[row])
        .join(GAP)
        .trimEnd(),
    )
    .join("\n");
}
