/** The memory of the token cache, and whether anything else grows with the number of requests. */
import { setImmediate } from "node:timers/promises";
import { type Benchmark, createBudget } from "./benchmark.ts";
import { createResourceServer } from "./built.ts";
import { AUDIENCE, claimsOf, createSigner } from "./tokens.ts";

const MAX_ENTRIES = 2_000;
/** One less than a multiple of `MAX_ENTRIES`, so that the cache is as full as possible. */
const SEEN = 3 * MAX_ENTRIES - 1;
/** An idle process allocates this much: compiled code, and heap pages that are partly empty. */
const NOISE_MB = 1;

const signer = createSigner("HS256");

export const memory: Benchmark = {
  name: "memory",
  title: "Memory",
  isGuard: false,
  async run({ quick, check }) {
    const isShort = quick || check;
    const cached = isShort ? 10_000 : 100_000;
    const calls = isShort ? 50_000 : 1_000_000;
    const bytes = await bytesPerToken(cached);
    const kept = await countKept(SEEN);
    const { heapMb, handles } = await growth(calls);
    const group = "server";
    const of = (count: number) => count.toLocaleString("en");
    return {
      rows: [
        { group, name: `a cached token, of ${of(cached)}`, value: bytes, unit: "bytes" },
        { group, name: `cached of ${of(SEEN)} tokens`, value: kept, unit: "" },
        { group, name: `heap after ${of(calls)} checks`, value: heapMb, unit: "MB" },
        { group, name: `handles after ${of(calls)} checks`, value: handles, unit: "" },
      ],
      budgets: [
        createBudget("a cached token", bytes, 800, "bytes"),
        createBudget("cached tokens over maxEntries", kept / MAX_ENTRIES, 1),
        createBudget(`heap grown by ${of(calls)} checks`, heapMb, NOISE_MB, "MB"),
        createBudget(`handles opened by ${of(calls)} checks`, handles, 0, "handles"),
      ],
    };
  },
};

function createServer(maxEntries: number) {
  return createResourceServer({
    serviceId: AUDIENCE,
    algorithm: "HS256",
    verificationKeys: [signer.text],
    tokenCache: { maxEntries, maxAgeSeconds: 3_600, maxBytes: 1e10 },
    scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"] },
  });
}

/** Creates a cache of twice the size, because a full cache may drop its older half at any time. */
async function bytesPerToken(tokens: number): Promise<number> {
  const server = createServer(2 * tokens + 2);
  await authenticateAll(server, 0, 1_000);
  const before = await heapUsed();
  await authenticateAll(server, 1_000, tokens);
  const after = await heapUsed();
  await server.close();
  return (after - before) / tokens;
}

/** Returns how many principals stay in memory after their requests. */
async function countKept(tokens: number): Promise<number> {
  const server = createServer(MAX_ENTRIES);
  const principals: WeakRef<object>[] = [];
  for (let caller = 0; caller < tokens; caller += 1)
    principals.push(new WeakRef(await server.authenticate(signer.sign(claimsOf(caller)))));
  await heapUsed();
  const kept = principals.filter((principal) => principal.deref()).length;
  await server.close();
  return kept;
}

/** Sends requests of frequent and of rare callers, with valid and invalid tokens, for known and unknown paths. */
async function growth(calls: number): Promise<{ readonly heapMb: number; readonly handles: number }> {
  const server = createServer(200);
  const tokens = Array.from({ length: 1_000 }, (_, caller) => signer.sign(claimsOf(caller)));
  const ask = async (count: number) => {
    for (let call = 0; call < count; call += 1) {
      const isRare = call % 50 === 0;
      const token = tokens[isRare ? (call / 50) % tokens.length : call % 90] ?? "";
      const authorization = `Bearer ${call % 100 === 1 ? `${token.slice(0, -9)}AAAAAAAAA` : token}`;
      const target = call % 100 === 2 ? `/nowhere/${call}` : `/agents/a-${call}`;
      await server.check({ method: "GET", target, authorization });
    }
  };
  await ask(20_000);
  const before = { heap: await heapUsed(), handles: process.getActiveResourcesInfo().length };
  await ask(calls);
  const heapMb = Math.max(0, (await heapUsed()) - before.heap) / 1_000_000;
  const handles = Math.max(0, process.getActiveResourcesInfo().length - before.handles);
  await server.close();
  return { heapMb, handles };
}

async function authenticateAll(
  server: ReturnType<typeof createServer>,
  first: number,
  count: number,
): Promise<void> {
  for (let caller = first; caller < first + count; caller += 1)
    await server.authenticate(signer.sign(claimsOf(caller)));
}

/** A dereferenced WeakRef keeps its target alive for one turn, and finalizers free memory in the next collection. */
async function heapUsed(): Promise<number> {
  if (!globalThis.gc) throw new Error("Run with --expose-gc: otherwise garbage counts as memory in use.");
  for (let turn = 0; turn < 3; turn += 1) {
    await setImmediate();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}
