/** Revocation: the cost of a check, the memory of an entry, and the time until every process knows. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import type { Principal } from "scopegate";
import type { RevocationStore, RevokedEntry } from "scopegate/revocation";
import type * as revocations from "scopegate/revocation";
import { HAS_REDIS_SERVER, startRedis } from "../test/support/redis-server.ts";
import { type Benchmark, createBudget, type Row } from "./benchmark.ts";
import { createResourceServer } from "./built.ts";
import { compare, contestant, findMeasured, medianOf, quantile } from "./compare.ts";
import { AUDIENCE, claimsOf, createSigner } from "./tokens.ts";

const built = new URL("../dist/revocation.js", import.meta.url).href;
const { inMemoryRevocation, redisRevocation } = (await import(built)) as typeof revocations;

const SIZES = [0, 10_000, 1_000_000];
const nameOf = (size: number) => `${size.toLocaleString("en")} entries`;
const until = () => Math.floor(Date.now() / 1000) + 100_000;

export const revocation: Benchmark = {
  name: "revocation",
  title: "Revocation: a check, an entry, and several processes",
  isGuard: false,
  async run({ quick, check }) {
    const isShort = quick || check;
    const sizes = isShort ? SIZES.slice(0, 2) : SIZES;
    const largest = sizes.at(-1) ?? 0;
    const signer = createSigner("HS256");
    const server = createResourceServer({
      serviceId: AUDIENCE,
      algorithm: "HS256",
      verificationKeys: [signer.text],
    });
    const claims = {
      ...claimsOf(),
      jti: randomUUID(),
      session_id: randomUUID(),
      iss: "https://login.example/",
    };
    const principal = await server.authenticate(signer.sign(claims));

    const stores: RevocationStore[] = [];
    let bytes = 0;
    for (const size of sizes) {
      const before = heapUsed();
      const store = inMemoryRevocation({ maxEntries: 2_000_000 });
      await fill(store, size);
      if (size === largest) bytes = (heapUsed() - before) / size;
      stores.push(store);
    }
    const measured = await compare(
      stores.map((store, index) => contestant(nameOf(sizes[index] ?? 0), () => refused(store, principal))),
      isShort ? { count: 10, us: 5_000, warmUpUs: 50_000 } : { count: 40, us: 20_000, warmUpUs: 500_000 },
    );
    const costs = sizes.map((size) => medianOf(findMeasured(measured, nameOf(size)).samples));
    const rows: Row[] = sizes.map((size, index) => ({
      group: "check",
      name: nameOf(size),
      value: costs[index] ?? 0,
      unit: "us",
    }));
    rows.push({
      group: "memory",
      name: `an entry, of ${largest.toLocaleString("en")}`,
      value: bytes,
      unit: "bytes",
    });
    const budgets = [
      ...sizes.map((size, index) => createBudget(`a check, ${nameOf(size)}`, costs[index] ?? 0, 0.3, "us")),
      createBudget("an entry", bytes, 120, "bytes"),
    ];
    if (!HAS_REDIS_SERVER) return { rows, budgets };

    const redis = await startRedis();
    const client = new Redis(redis.port);
    try {
      const delays = await measureDelays(redis.url, client, isShort ? 20 : 300, signer);
      const group = "from revoke to the refusal of another process";
      for (const [name, value] of [
        ["p50", medianOf(delays)],
        ["p99", quantile(delays, 0.99)],
      ] as const)
        rows.push({ group, name, value, unit: "ms" });
      budgets.push(createBudget(`${group}, p99`, quantile(delays, 0.99), 1000, "ms"));
      const count = isShort ? 10_000 : 1_000_000;
      rows.push({
        group: "the start of a process",
        name: `catches up with ${count.toLocaleString("en")} entries`,
        value: await measureCatchUp(client, count),
        unit: "ms",
      });
    } finally {
      client.disconnect();
      await redis.remove();
    }
    return { rows, budgets };
  },
};

function refused(store: RevocationStore, principal: Principal): void {
  if (store.isRevoked(principal) !== false) throw new Error("The principal is revoked.");
}

async function fill(store: RevocationStore, size: number): Promise<void> {
  // Parsed, as a process reads them from Redis: strings that were concatenated need more memory.
  for (let index = 0; index < size; index += 1)
    await store.add([
      JSON.parse(JSON.stringify({ kind: "token", id: randomUUID(), until: until() })) as RevokedEntry,
    ]);
}

function heapUsed(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Milliseconds from the moment at which `revoke` has returned until each of two processes refuses. */
async function measureDelays(
  url: string,
  client: Redis,
  rounds: number,
  signer: ReturnType<typeof createSigner>,
): Promise<readonly number[]> {
  const program = fileURLToPath(new URL("revocation-member.ts", import.meta.url));
  const members = [1, 2].map(() => fork(program, [JSON.stringify({ url, secret: signer.text })]));
  const store = redisRevocation(client);
  const server = createResourceServer({
    serviceId: AUDIENCE,
    algorithm: "HS256",
    verificationKeys: [signer.text],
    revocation: store,
  });
  const delays: number[] = [];
  try {
    await Promise.all([server.ready(), ...members.map((member) => once(member, "message"))]);
    for (let round = 0; round < rounds; round += 1) {
      const tokenId = randomUUID();
      const token = signer.sign({ ...claimsOf(), jti: tokenId });
      const watching = members.map((member) => once(member, "message"));
      for (const member of members) member.send(token);
      await Promise.all(watching);
      const answers = members.map((member) => once(member, "message"));
      await server.revoke({ tokenId });
      const revokedAt = performance.timeOrigin + performance.now();
      for (const [refusedAt] of (await Promise.all(answers)) as [number][])
        delays.push(Math.max(0, refusedAt - revokedAt));
    }
  } finally {
    for (const member of members) member.kill();
    await server.close();
  }
  return delays;
}

/** Milliseconds until a new store has read this number of entries. */
async function measureCatchUp(client: Redis, count: number): Promise<number> {
  const prefix = "catch-up:";
  for (let start = 0; start < count; start += 10_000) {
    const pipeline = client.pipeline();
    for (let index = 0; index < 10_000; index += 1)
      pipeline.xadd(
        `${prefix}entries`,
        "*",
        "e",
        JSON.stringify({ kind: "token", id: randomUUID(), until: until() }),
      );
    await pipeline.exec();
  }
  const since = performance.now();
  const store = redisRevocation(client, { prefix, maxEntries: 2_000_000, staleSeconds: 120 });
  await store.ready();
  const took = performance.now() - since;
  store.close();
  return took;
}
