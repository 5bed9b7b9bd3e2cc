/** Compares whole requests to servers of one framework, which arrive over streams in memory. */
import { type Budget, createBudget, type Row } from "../benchmark.ts";
import { fastest, findMeasured, interleave, ratioOf, toRows } from "../compare.ts";
import { verifyAnswers } from "./drive.ts";
import { type Load, ONE_TOKEN } from "./loads.ts";
import { CALL_TOOL, GET_AGENT, type Question, WITHOUT_PARAMETER } from "./route.ts";
import type { Issuer } from "./serve.ts";
import { type ServerKind, startServers } from "./server-process.ts";

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
  /** The peers, the cheapest first. */
  readonly peers: readonly string[];
  /** In a round of one server, which takes about 20 ms: short rounds are more often undisturbed. */
  readonly requests: number;
  readonly question?: Question;
  /** The most that a whole request may cost, against the floor. Default: `LIMIT`. */
  readonly limit?: number;
}

const LIMIT = 1.1;

const CONTESTS: Readonly<Record<ServerKind, Contest>> = {
  express: {
    peers: ["express-jwt", "passport-jwt", "express-oauth2-jwt-bearer", WITHOUT_PARAMETER],
    requests: 300,
  },
  koa: { peers: ["koa-jwt", WITHOUT_PARAMETER], requests: 1000 },
  fastify: { peers: ["@fastify/jwt, cache", "@fastify/jwt"], requests: 2000 },
  hono: { peers: ["hono/jwt", "hono/jwk", WITHOUT_PARAMETER], requests: 1000 },
  fetch: { peers: [], requests: 1000 },
  nest: { peers: ["@nestjs/passport"], requests: 300 },
  mcp: { peers: [], requests: 300, question: CALL_TOOL, limit: 1.15 },
  "mcp-sdk": { peers: [], requests: 100, question: CALL_TOOL, limit: 1.08 },
};

/**
 * A young generation of fixed size. V8 otherwise enlarges it in some processes and not in others, which changes the cost
 * of a request by a third.
 */
const FLAGS = ["--min-semi-space-size=16"];

export const NO_AUTH = "no auth";
export const REFERENCE = "floor";
export const OURS = "scopegate";

export async function compareInProcess(
  framework: ServerKind,
  load: Load,
  issuer: Issuer,
  plan: InProcessPlan,
): Promise<{ readonly rows: readonly Row[]; readonly budget: Budget }> {
  const { peers, requests, question = GET_AGENT, limit = LIMIT } = CONTESTS[framework];
  // Without a cache, it makes no difference whether the tokens of a load are the same.
  const compared = load.name === ONE_TOKEN ? peers : peers.slice(0, 1);
  const variants = [NO_AUTH, REFERENCE, OURS, ...compared];
  const samples = variants.map((): number[] => []);
  for (let start = 0; start < plan.starts; start += 1) {
    const servers = await startServers(framework, variants, issuer, FLAGS);
    try {
      for (const server of servers) {
        await verifyAnswers(server, load, question);
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
  const ratio = ratioOf(findMeasured(measured, OURS), findMeasured(measured, REFERENCE));
  return {
    rows: toRows(group, measured, REFERENCE),
    budget: createBudget(`${group}: whole request against the floor`, ratio, limit),
  };
}
