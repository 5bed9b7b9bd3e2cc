/** Compares whole requests to servers of one framework, which arrive over streams in memory. */
import { type Budget, createBudget, type Row } from "../benchmark.ts";
import { fastest, findMeasured, interleave, ratioOf, toRows } from "../compare.ts";
import { verifyAnswers } from "./drive.ts";
import { type Load } from "./loads.ts";
import { type Issuer } from "./serve.ts";
import { type Framework, startServers } from "./server-process.ts";

export interface InProcessPlan {
  readonly rounds: number;
  /** How many requests each server answers in a round. */
  readonly requests: number;
  readonly warmUpRequests: number;
}

/** The cheapest peer of each framework, and the budget for scopegate. */
const FRAMEWORK = {
  express: { peer: "express-jwt", limit: 1.1 },
  koa: { peer: "koa-jwt", limit: 1.15 },
  fastify: { peer: "@fastify/jwt, cache", limit: 1.2 },
} as const;

/** Other benchmarks compare with the server without authentication, this one with the floor. */
const REFERENCE = "floor";

export async function compareInProcess(
  framework: Framework,
  load: Load,
  issuer: Issuer,
  plan: InProcessPlan,
): Promise<{ readonly rows: readonly Row[]; readonly budget: Budget }> {
  const { peer, limit } = FRAMEWORK[framework];
  const servers = await startServers(framework, ["no auth", REFERENCE, "scopegate", peer], issuer);
  try {
    for (const server of servers) {
      await verifyAnswers(server, load);
      await server.cpuTime({ tokens: load.tokens, requests: plan.warmUpRequests });
    }
    // Rounds in which cached tokens expire are slower, so they are not among the fastest.
    const samples = await interleave(servers, plan.rounds, async ({ cpuTime }) => {
      const before = await cpuTime();
      return ((await cpuTime({ requests: plan.requests })) - before) / plan.requests;
    });
    const measured = servers.map(({ variant }, index) => fastest(variant, samples[index] ?? []));
    const group = `${framework}, ${load.name}, in process`;
    const ratio = ratioOf(findMeasured(measured, "scopegate"), findMeasured(measured, REFERENCE));
    return {
      rows: toRows(group, measured, REFERENCE),
      budget: createBudget(`${group}: whole request against the floor`, ratio, limit),
    };
  } finally {
    for (const server of servers) server.stop();
  }
}
