/**
 * What a hostile request costs in `server.check`. A request is made once, as a string in memory, and checked again and
 * again: what is measured is everything that the library does with it, and nothing of reading it from a socket. Growing
 * lengths stand side by side, so that a cost per character that grows with the length would show.
 */
import { type AccessRequest, type ResourceServer } from "scopegate";
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { awaited, compare, type Rounds, toRows } from "./compare.ts";
import { header, paths, tokens, withPath } from "./hostile-requests.ts";

const LENGTHS = [4_000, 16_000, 64_000] as const;
const PATH_LIMIT_US = 20;
const TOKEN_LIMIT_US = 1_000;

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
    for (const [name, make] of paths) {
      const lengths = LENGTHS.map((length) => [`${length / 1000} kB`, withPath(make(length))] as const);
      const said = await outcome(header, withPath(make(4_000)));
      rows.push(...(await measure(`path: ${name}`, lengths, header, rounds, said)));
    }
    budgets.push(worstOf(rows, /^4 kB/, "a path of 4 kB, the worst", PATH_LIMIT_US));
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
