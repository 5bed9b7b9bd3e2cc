/** Compares whole requests to servers of one framework, which arrive over streams in memory. */
import { type Budget, createBudget, type Row } from "../benchmark.ts";
import { fastest, findMeasured, interleave, ratioOf, toRows } from "../compare.ts";
import { verifyAnswers } from "./drive.ts";
import type { Load } from "./loads.ts";
import type { Issuer } from "./serve.ts";
import { type Framework, startServers } from "./server-process.ts";

export interface InProcessPlan {
  /**
   * How often all servers are restarted: the heap of some processes retains garbage, which doubles the cost
   * of a request.
   */
  readonly starts: number;
  /** After each start. */
  readonly rounds: number;
  readonly warmUpRequests: number;
}

interface Contest {
  readonly peer?: string;
  /** In a round of one server, which takes about 20 ms: short rounds are more often undisturbed. */
  readonly requests: number;
  readonly limit: number;
}

/** The cheapest peer of each framework, and the budget of scopegate. */
const CONTESTS: Readonly<Record<Framework, Contest>> = {
  express: { peer: "express-jwt", requests: 300, limit: 1.1 },
  koa: { peer: "koa-jwt", requests: 1000, limit: 1.15 },
  fastify: { peer: "@fastify/jwt, cache", requests: 2000, limit: 1.2 },
  hono: { peer: "hono/jwt", requests: 1000, limit: 1.2 },
  fetch: { requests: 1000, limit: 1.2 },
  nest: { peer: "@nestjs/passport", requests: 300, limit: 1.1 },
};

/**
 * A young generation of fixed size. V8 otherwise enlarges it in some processes and not in others, which changes the cost
 * of a request by a third.
 */
const FLAGS = ["--min-semi-space-size=16"];

const REFERENCE = "floor";

export async function compareInProcess(
  framework: Framework,
  load: Load,
  issuer: Issuer,
  plan: InProcessPlan,
): Promise<{ readonly rows: readonly Row[]; readonly budget: Budget }> {
  const { peer, requests, limit } = CONTESTS[framework];
  const variants = ["no auth", REFERENCE, "scopegate", ...(peer === undefined ? [] : [peer])];
  const samples = variants.map((): number[] => []);
  for (let start = 0; start < plan.starts; start += 1) {
    const servers = await startServers(framework, variants, issuer, FLAGS);
    try {
      for (const server of servers) {
        await verifyAnswers(server, load);
        await server.cpuTime({ tokens: load.tokens, requests: plan.warmUpRequests });
      }
      // Rounds in which cached tokens expire are slower, so they are not among the fastest.
      const measured = await interleave(servers, plan.rounds, async ({ cpuTime }) => {
        const before = await cpuTime();
        return ((await cpuTime({ requests })) - before) / requests;
      });
      for (const [index, own] of measured.entries()) samples[index]?.push(...own);
    } finally {
      for (const server of servers) server.stop();
    }
  }
  const measured = variants.map((variant, index) => fastest(variant, samples[index] ?? []));
  const group = `${framework}, ${load.name}, in process`;
  const ratio = ratioOf(findMeasured(measured, "scopegate"), findMeasured(measured, REFERENCE));
  return {
    rows: toRows(group, measured, REFERENCE),
    budget: createBudget(`${group}: whole request against the floor`, ratio, limit),
  };
}
