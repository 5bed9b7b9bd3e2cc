/**
 * The CPU time that a hostile request costs in `server.check`. The request is a string in memory: reading it from a socket
 * is not measured. Paths of growing lengths show whether the time is linear.
 */
import type { AccessRequest, ResourceServer } from "scopegate";
import { type Benchmark, type BenchmarkResult, type Budget, createBudget, type Row } from "./benchmark.ts";
import { awaited, compare, medianOf, type Rounds, toRows } from "./compare.ts";
import { expressContestants } from "./hostile-express.ts";
import { adversarial, paths, realistic, tokens, withPath } from "./hostile-requests.ts";
import { FAMILIES, type Family } from "./hostile-shapes.ts";

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

/** The CPU time of a request of at most 8 kB without a valid token, and how it may grow from half of it. */
const SHAPE_LIMIT_US = 300;
const GROWTH_LIMIT = 3;
/** The growth of shorter times says nothing: most of them is the same for each request. */
const GROWTH_FROM_US = 20;

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
    const shaped = await measureShapes(rounds);
    return { rows: [...rows, ...shaped.rows], budgets: [...budgets, ...shaped.budgets] };
  },
};

/** Measures requests without a valid token in several lengths: the time must be short, and linear in the bytes. */
async function measureShapes(rounds: Rounds): Promise<BenchmarkResult> {
  const rows: Row[] = [];
  const budgets: Budget[] = [];
  for (const family of FAMILIES) {
    const measured = await measureFamily(family, rounds);
    rows.push(...measured.rows);
    budgets.push(...measured.budgets);
  }
  const express = await compare(expressContestants(8_000), rounds);
  rows.push(...toRows("no token, 8 kB, Express", express, express[0]?.name ?? ""));
  const [without = Number.NaN, guarded = Number.NaN] = express.map(({ samples }) => medianOf(samples));
  const added = createBudget(
    "no token, 8 kB, express: an array of 200 paths, added by the guard",
    guarded - without,
    SHAPE_LIMIT_US,
    "us",
  );
  return { rows, budgets: [added, ...budgets] };
}

async function measureFamily(
  { name: family, shapes, bytes }: Family,
  rounds: Rounds,
): Promise<BenchmarkResult> {
  const rows: Row[] = [];
  const longest: { readonly name: string; readonly us: number; readonly growth: number }[] = [];
  const [half = 0, whole = 0] = bytes.slice(-2);
  for (const { name, server, request } of shapes) {
    const requests = bytes.map((length) => [textOf(length), request(length)] as const);
    const said = await outcome(server, request(whole));
    const own = await measure(`${family}, ${name}`, requests, server, rounds, said);
    const valueAt = (length: number) => own.find((row) => row.name === textOf(length))?.value ?? Number.NaN;
    const us = Math.max(...own.map(({ value }) => value));
    longest.push({ name, us, growth: us < GROWTH_FROM_US ? 1 : valueAt(whole) / valueAt(half) });
    rows.push(...own);
  }
  const [slowest] = longest.toSorted((a, b) => b.us - a.us);
  const [steepest] = longest.toSorted((a, b) => b.growth - a.growth);
  const [worstOfAll, growth] = [`${textOf(whole)}, the worst`, `${textOf(whole)} against ${textOf(half)}`];
  return {
    rows,
    budgets: [
      createBudget(
        `${family}, ${worstOfAll}: ${slowest?.name ?? ""}`,
        slowest?.us ?? 0,
        SHAPE_LIMIT_US,
        "us",
      ),
      createBudget(`${family}, ${growth}: ${steepest?.name ?? ""}`, steepest?.growth ?? 0, GROWTH_LIMIT),
    ],
  };
}

const textOf = (bytes: number): string => (bytes < 1_000 ? `${bytes} bytes` : `${bytes / 1_000} kB`);

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
