/** Measures the lookups in one table, for `routes.ts`. */
import { compare, contestant, type Measured } from "./compare.ts";
import { readInput, sendResult } from "./own-process.ts";
import { createFindMyWay, createOurs, createPathToRegexp, createRou3 } from "./route-finders.ts";
import { createWorkload } from "./route-workload.ts";

export interface TableOrder {
  readonly size: number;
  readonly quick: boolean;
  /** Whether to measure all peers, not only find-my-way. */
  readonly withAll: boolean;
}

export interface MeasuredTable {
  readonly size: number;
  readonly hit: readonly Measured[];
  readonly miss: readonly Measured[];
}

const QUICK = { count: 7, us: 4_000, warmUpUs: 40_000 };
const THOROUGH = { count: 21, us: 20_000, warmUpUs: 200_000 };

async function measure(
  kind: "hit" | "miss",
  { size, quick, withAll }: TableOrder,
): Promise<readonly Measured[]> {
  const workload = createWorkload(size);
  const creators = [createOurs, createFindMyWay, ...(withAll ? [createRou3, createPathToRegexp] : [])];
  const contestants = creators.map((create) => {
    const { name, has } = create(workload.patterns);
    return contestant(name, () => {
      if (has(workload[kind]()) !== (kind === "hit")) throw new Error(`${name} did not return a ${kind}.`);
    });
  });
  return compare(contestants, quick ? QUICK : THOROUGH);
}

const order = readInput() as TableOrder;
const measured: MeasuredTable = {
  size: order.size,
  hit: await measure("hit", order),
  miss: await measure("miss", order),
};
sendResult(measured);
