/** What the size of the table costs a request. */
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { findMeasured, medianOf, ratioOf, toRows } from "./compare.ts";
import { inOwnProcess } from "./own-process.ts";
import type { MeasuredTable, TableOrder } from "./routes-table.ts";

const OURS = "scopegate";
const PEER = "find-my-way";
const KINDS = ["hit", "miss"] as const;

export const routes: Benchmark = {
  name: "routes",
  title: "Route lookup, CPU time per path",
  isGuard: true,
  async run({ quick, check }) {
    const tables: MeasuredTable[] = [];
    for (const size of check || quick ? [10, 10_000] : [10, 100, 1_000, 10_000]) {
      // A service has one table: code that has met several is slower with each.
      const order: TableOrder = { size, quick, withAll: !check };
      tables.push(await inOwnProcess<MeasuredTable>("routes-table.ts", order));
    }
    const rows: Row[] = [];
    const budgets: Budget[] = [];
    for (const kind of KINDS) {
      const of = (table: MeasuredTable | undefined, name: string) => findMeasured(table?.[kind] ?? [], name);
      for (const table of tables)
        rows.push(...toRows(`${kind}, ${table.size.toLocaleString("en")} mappings`, table[kind], PEER, "ns"));
      const [small, large] = [tables[0], tables.at(-1)].map((table) => medianOf(of(table, OURS).samples));
      const growth = (large ?? Number.NaN) / (small ?? Number.NaN);
      budgets.push(createBudget(`${kind}: growth from 10 to 10,000 mappings`, growth, 1.6));
      const ratios = tables.map((table) => ratioOf(of(table, OURS), of(table, PEER)));
      budgets.push(createBudget(`${kind}: over find-my-way, worst size`, Math.max(...ratios), 1));
    }
    return { rows, budgets };
  },
};
