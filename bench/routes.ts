/** How the cost of a route lookup grows with the size of the table. */
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { findMeasured, ratioOf, toRows } from "./compare.ts";
import { inOwnProcess } from "./own-process.ts";
import type { MeasuredTable, TableOrder } from "./routes-table.ts";

const OURS = "scopegate";
const PEER = "find-my-way";
const KINDS = ["hit", "miss"] as const;

/** Budgets against the peer, by the number of mappings. */
const LIMITS: Readonly<Record<number, number>> = { 10: 1.3, 1_000: 1.1, 10_000: 0.9 };

export const routes: Benchmark = {
  name: "routes",
  title: "Route lookup, CPU time per path",
  isGuard: true,
  async run({ quick, check }) {
    const tables: MeasuredTable[] = [];
    for (const size of check || quick ? [10, 10_000] : [10, 100, 1_000, 10_000]) {
      // A service has one table. V8 optimizes code less once it has run with several tables.
      const order: TableOrder = { size, quick, withAll: !check };
      tables.push(await inOwnProcess<MeasuredTable>("routes-table.ts", order));
    }
    const rows: Row[] = [];
    const budgets: Budget[] = [];
    for (const kind of KINDS)
      for (const table of tables) {
        const group = `${kind}, ${table.size.toLocaleString("en")} mappings`;
        rows.push(...toRows(group, table[kind], PEER, "ns"));
        const limit = LIMITS[table.size];
        const ratio = ratioOf(findMeasured(table[kind], OURS), findMeasured(table[kind], PEER));
        if (limit !== undefined) budgets.push(createBudget(`${group}: against find-my-way`, ratio, limit));
      }
    return { rows, budgets };
  },
};
