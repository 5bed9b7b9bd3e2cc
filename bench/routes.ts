/** What the size of the table costs a request. */
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { compare, contestant, findMeasured, type Measured, ratioOf, toRows } from "./compare.ts";
import { createFindMyWay, createOurs, createPathToRegexp, createRou3, type Finder } from "./route-finders.ts";
import { createWorkload } from "./route-workload.ts";

const OURS = "scopegate";
const PEER = "find-my-way";
const SIZES = [10, 100, 1_000, 10_000] as const;
const KINDS = ["hit", "miss"] as const;

const QUICK = { count: 7, us: 4_000, warmUpUs: 40_000 };
const THOROUGH = { count: 21, us: 20_000, warmUpUs: 200_000 };

export const routes: Benchmark = {
  name: "routes",
  title: "Route lookup, CPU time per path",
  isGuard: true,
  async run({ quick, check }) {
    const cases = (check || quick ? [10, 10_000] : SIZES).map((size) => {
      const workload = createWorkload(size);
      const { patterns } = workload;
      const peers = check ? [] : [createRou3(patterns), createPathToRegexp(patterns)];
      return { size, workload, finders: [createOurs(patterns), createFindMyWay(patterns), ...peers] };
    });
    const rows: Row[] = [];
    const budgets: Budget[] = [];
    for (const kind of KINDS) {
      // All sizes in one comparison: their growth is a ratio of rounds that lay side by side.
      const measured = await compare(
        cases.flatMap(({ size, workload, finders }) =>
          finders.map((finder) => createContestant(finder, size, kind, workload[kind])),
        ),
        quick ? QUICK : THOROUGH,
      );
      const of = (name: string, size: number) => findMeasured(measured, nameOf(name, size));
      for (const { size, finders } of cases) {
        const own = finders.map(({ name }): Measured => ({ ...of(name, size), name }));
        rows.push(...toRows(`${kind}, ${size.toLocaleString("en")} mappings`, own, PEER, "ns"));
      }
      const growth = ratioOf(of(OURS, 10_000), of(OURS, 10));
      budgets.push(createBudget(`${kind}: growth from 10 to 10,000 mappings`, growth, 1.6));
      const ratios = cases.map(({ size }) => ratioOf(of(OURS, size), of(PEER, size)));
      budgets.push(createBudget(`${kind}: over find-my-way, worst size`, Math.max(...ratios), 1));
    }
    return { rows, budgets };
  },
};

const nameOf = (finder: string, size: number): string => `${finder} ${size}`;

function createContestant(
  { name, has }: Finder,
  size: number,
  kind: (typeof KINDS)[number],
  path: () => string,
) {
  const isHit = kind === "hit";
  return contestant(nameOf(name, size), () => {
    if (has(path()) !== isHit) throw new Error(`${name} does not answer with a ${kind}.`);
  });
}
