/**
 * The CPU time that a hostile request costs in `server.check`. The request is a string in memory: reading it from a socket
 * is not measured. Paths of growing lengths show whether the time is linear.
 */
import { type AccessRequest, type ResourceServer } from "scopegate";
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { awaited, compare, type Rounds, toRows } from "./compare.ts";
import { adversarial, paths, realistic, tokens, withPath } from "./hostile-requests.ts";

const LENGTHS = [4_000, 16_000, 64_000] as const;
const TOKEN_LIMIT_US = 1_000;
const TABLES = [
  { table: "realistic table", server: realistic, limitUs: 150, route: {} },
  { table: "adversarial table", server: adversarial, limitUs: 1_000, route: {} },
  {
    table: "adversarial table, matched route",
    server: adversarial,
    limitUs: 1_000,
    // The widest route of the table: the rules of all narrower routes are candidates too.
    route: { matchedPattern: "/:tenant/*rest" },
  },
];

const QUICK: Rounds = { count: 5, us: 4_000, warmUpUs: 30_000 };
const THOROUGH: Rounds = { count: 11, us: 20_000, warmUpUs: 100_000 };

export const hostile: Benchmark = {
  name: "hostile",
  title: "Hostile requests, CPU time per check",
  isGuard: false,
  async run({ quick }) {
    const rounds = quick ? QUICK : THOROUGH;
    const rows: Row[] = [];
    for (const [name, server, request] of tokens) {
      const said = await outcome(server, request);
      rows.push(...(await measure("credential", [[name, request]], server, rounds, said)));
    }
    const budgets = [worstOf(rows, /10 MB/, "a credential of 10 MB, the worst", TOKEN_LIMIT_US)];
    for (const { table, server, limitUs, route } of TABLES) {
      const own: Row[] = [];
      for (const [name, make] of paths) {
        const requestOf = (length: number): AccessRequest => ({ ...withPath(make(length)), ...route });
        const requests = (quick ? LENGTHS.slice(0, 1) : LENGTHS).map(
          (length) => [`${length / 1000} kB`, requestOf(length)] as const,
        );
        const said = await outcome(server, requestOf(LENGTHS[0]));
        own.push(...(await measure(`path, ${table}: ${name}`, requests, server, rounds, said)));
      }
      rows.push(...own);
      budgets.push(worstOf(own, /^4 kB/, `a path of 4 kB, ${table}, the worst`, limitUs));
    }
    return { rows, budgets };
  },
};

async function measure(
  group: string,
  requests: readonly (readonly [string, AccessRequest])[],
  server: ResourceServer,
  rounds: Rounds,
  note: string,
): Promise<readonly Row[]> {
  const contestants = requests.map(([name, request]) => awaited(name, () => server.check(request), { note }));
  const measured = await compare(contestants, rounds);
  return toRows(group, measured, measured[0]?.name ?? "");
}

function worstOf(rows: readonly Row[], names: RegExp, what: string, limit: number): Budget {
  const values = rows.filter(({ name }) => names.test(name)).map(({ value }) => value);
  return createBudget(what, Math.max(...values), limit, "us");
}

async function outcome(server: ResourceServer, request: AccessRequest): Promise<string> {
  const decision = await server.check(request);
  return decision.allowed ? "allowed" : (decision.rejection ?? decision.reason);
}
