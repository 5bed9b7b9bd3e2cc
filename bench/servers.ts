/**
 * What authentication adds to the CPU time of a request: servers in processes of their own, the same token, the same
 * route and the same handler, without auth, with scopegate and with others.
 */
import { type Benchmark, type BenchmarkResult } from "./benchmark.ts";
import { verifyAnswers } from "./servers/drive.ts";
import { createLoads, type Load } from "./servers/loads.ts";
import { measure, type Measurement, type Plan } from "./servers/measure.ts";
import { judge, toServerRows } from "./servers/results.ts";
import { type Trust } from "./servers/serve.ts";
import { compileServers, type Framework, type ServerProcess, startServer } from "./servers/server-process.ts";
import { AUDIENCE, createSigner, ISSUER } from "./tokens.ts";

const VARIANTS: readonly (readonly [Framework, readonly string[]])[] = [
  ["express", ["no auth", "scopegate", "express-jwt", "express-oauth2-jwt-bearer"]],
  ["koa", ["no auth", "scopegate", "koa-jwt"]],
  ["fastify", ["no auth", "scopegate", "@fastify/jwt", "@fastify/jwt, cache"]],
];

const FULL: Plan = {
  rounds: 7,
  warmUp: { connections: 8, requests: 12_000 },
  remember: { connections: 8, requests: 12_000 },
  counted: { connections: 32, requests: 2000 },
  timed: { connections: 1, requests: 200 },
};

/** Shows that all of it works; too short for a verdict. */
const QUICK: Plan = {
  rounds: 2,
  warmUp: { connections: 8, requests: 200 },
  remember: { connections: 8, requests: 0 },
  counted: { connections: 32, requests: 160 },
  timed: { connections: 1, requests: 20 },
};

async function run({ quick }: { readonly quick: boolean }): Promise<BenchmarkResult> {
  await compileServers();
  const signer = createSigner("RS256");
  const trust = { publicKey: signer.text, issuer: ISSUER, audience: AUDIENCE };
  const measured: Measurement[] = [];
  for (const load of createLoads(signer, { withManyTokens: !quick }))
    measured.push(...(await measureLoad(load, trust, quick ? QUICK : FULL)));
  const rows = toServerRows(measured);
  return { rows, budgets: quick ? [] : judge(rows) };
}

/** By servers of its own, which have met nothing else: ten thousand remembered tokens are a heap that is collected. */
async function measureLoad(load: Load, trust: Trust, plan: Plan): Promise<readonly Measurement[]> {
  const servers: ServerProcess[] = [];
  try {
    for (const [framework, variants] of VARIANTS)
      for (const variant of variants) servers.push(await startServer(framework, variant, trust));
    for (const server of servers) await verifyAnswers(server, load);
    return await measure(servers, load, plan);
  } finally {
    for (const server of servers) server.stop();
  }
}

export const servers: Benchmark = {
  name: "servers",
  title: "Servers: CPU time that authentication adds to a request",
  isGuard: false,
  run,
};
