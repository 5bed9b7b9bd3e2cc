/**
 * The cost of a whole request with a cached token, without the kernel: requests arrive over streams in
 * memory.
 */
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from "./benchmark.ts";
import { compareInProcess, type InProcessPlan } from "./servers/in-process.ts";
import { createLoads, MANY_TOKENS, ONE_TOKEN } from "./servers/loads.ts";
import { compileServers, FRAMEWORKS, MCP_SERVERS } from "./servers/server-process.ts";
import { AUDIENCE, createSigner, ISSUER } from "./tokens.ts";

const FULL: InProcessPlan = { starts: 3, rounds: 30, warmUpRequests: 5_000 };
const QUICK: InProcessPlan = { starts: 1, rounds: 20, warmUpRequests: 2000 };

async function run({ quick }: BenchmarkOptions): Promise<BenchmarkResult> {
  await compileServers();
  const signer = createSigner("RS256", "JWT");
  const issuer = { publicKey: signer.text, issuer: ISSUER, audience: AUDIENCE };
  const loads = createLoads(signer, { quick }).filter(
    ({ name }) => name === ONE_TOKEN || name === MANY_TOKENS,
  );
  const compared = [];
  for (const framework of [...FRAMEWORKS, ...MCP_SERVERS])
    for (const load of loads)
      compared.push(await compareInProcess(framework, load, issuer, quick ? QUICK : FULL));
  return { rows: compared.flatMap(({ rows }) => rows), budgets: compared.map(({ budget }) => budget) };
}

export const requests: Benchmark = {
  name: "requests",
  title: "Requests in process: CPU time of a whole request",
  isGuard: false,
  run,
};
