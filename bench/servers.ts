/**
 * What authentication adds to a server on loopback: the same route and handler, each in its own process, without
 * authentication, with scopegate and with other libraries.
 */
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from "./benchmark.ts";
import { verifyAnswers } from "./servers/drive.ts";
import { createLoads, type Load } from "./servers/loads.ts";
import { measure, type Measurement, type Plan } from "./servers/measure.ts";
import { judge, toServerRows } from "./servers/results.ts";
import type { Issuer } from "./servers/serve.ts";
import { compileServers, type Framework, FRAMEWORKS, startServers } from "./servers/server-process.ts";
import { AUDIENCE, createSigner, ISSUER } from "./tokens.ts";

const VARIANTS: Readonly<Record<Framework, readonly string[]>> = {
  express: ["no auth", "scopegate", "express-jwt", "passport-jwt", "express-oauth2-jwt-bearer"],
  koa: ["no auth", "scopegate", "koa-jwt"],
  fastify: ["no auth", "scopegate", "@fastify/jwt", "@fastify/jwt, cache"],
  hono: ["no auth", "scopegate", "hono/jwt", "hono/jwk"],
  fetch: ["no auth", "scopegate"],
  nest: ["no auth", "scopegate", "@nestjs/passport"],
};

const FULL: Plan = {
  rounds: 5,
  warmUp: { connections: 8, requests: 6_000 },
  remember: { connections: 8, requests: 12_000 },
  counted: { connections: 32, requests: 2000 },
  timed: { connections: 1, requests: 200 },
};

/** Shows that the loopback servers work. It is too short to judge them. */
const QUICK: Plan = {
  rounds: 2,
  warmUp: { connections: 8, requests: 200 },
  remember: { connections: 8, requests: 0 },
  counted: { connections: 32, requests: 160 },
  timed: { connections: 1, requests: 20 },
};

async function run({ quick }: BenchmarkOptions): Promise<BenchmarkResult> {
  await compileServers();
  const signer = createSigner("RS256", "JWT");
  const issuer = { publicKey: signer.text, issuer: ISSUER, audience: AUDIENCE };
  const loads = createLoads(signer, { quick });
  const measured: Measurement[] = [];
  for (const load of loads) measured.push(...(await measureLoad(load, issuer, quick ? QUICK : FULL)));
  const rows = toServerRows(measured);
  return { rows, budgets: quick ? [] : judge(rows) };
}

/** Starts new servers for the load: collecting the garbage of 10,000 cached tokens would slow the next load. */
async function measureLoad(load: Load, issuer: Issuer, plan: Plan): Promise<readonly Measurement[]> {
  const started = await Promise.all(
    FRAMEWORKS.map((framework) => startServers(framework, VARIANTS[framework], issuer)),
  );
  const servers = started.flat();
  try {
    for (const server of servers) await verifyAnswers(server, load);
    return await measure(servers, load, plan);
  } finally {
    for (const server of servers) server.stop();
  }
}

export const servers: Benchmark = {
  name: "servers",
  title: "Servers: CPU time of a request and what authentication adds to it",
  isGuard: false,
  run,
};
