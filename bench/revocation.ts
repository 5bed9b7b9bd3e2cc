/** Shared revocation: the cost of a check and of a question, the load of the store, and the time until a refusal. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fork } from "node:child_process";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import type { Principal, ResourceServer } from "scopegate";
import type { Revocations } from "scopegate/revocation";
import type * as revocations from "scopegate/revocation";
import type { Store } from "scopegate/store";
import type * as stores from "scopegate/store";
import { HAS_REDIS_SERVER, startRedis } from "../test/support/redis-server.ts";
import { type Benchmark, createBudget, type Row } from "./benchmark.ts";
import { createResourceServer, importEntry } from "./built.ts";
import { compare, contestant, findMeasured, medianOf, quantile } from "./compare.ts";
import { AUDIENCE, claimsOf, createSigner } from "./tokens.ts";

const { sharedRevocation } = await importEntry<typeof revocations>("revocation");
const { memoryStore, redisStore } = await importEntry<typeof stores>("store");

const FRESH = "a fresh answer";
const AFTER_CHANGES = "a fresh answer, in a process that has made 10,000 revocations";

/** The load whose cost is measured. */
const ACTIVE_TOKENS = 10_000;
const REQUESTS_PER_SECOND = 20_000;

const signer = createSigner("HS256");
const newClaims = () => ({
  ...claimsOf(),
  sub: randomUUID(),
  jti: randomUUID(),
  session_id: randomUUID(),
  client_id: "web",
  iss: "https://login.example/",
});

export const revocation: Benchmark = {
  name: "revocation",
  title: "Revocation: a check, the load of the store, and several processes",
  isGuard: false,
  async run({ quick, check }) {
    const isShort = quick || check;
    const server = createResourceServer({
      serviceId: AUDIENCE,
      algorithm: "HS256",
      verificationKeys: [signer.text],
      tokenCache: { maxEntries: ACTIVE_TOKENS },
    });
    const principal = await server.authenticate(signer.sign(newClaims()));
    const costs = await measureChecks(principal, isShort);
    const rows: Row[] = costs.map(([name, value]) => ({ group: "check", name, value, unit: "us" }));
    const budgets = costs.map(([name, value]) => createBudget(name, value, 0.3, "us"));
    if (!HAS_REDIS_SERVER) return { rows, budgets };

    const redis = await startRedis();
    const client = new Redis(redis.port);
    try {
      const name = "a stale answer: one question to Redis";
      rows.push({ group: "check", name, value: await measureStale(principal, client, isShort), unit: "us" });
      const load = await measureLoad(server, client, isShort ? 1_000 : ACTIVE_TOKENS, isShort ? 1 : 10);
      rows.push(...load);
      const delays = await measureDelays(redis.url, client, isShort ? 10 : 200);
      const group = "from revoke to the refusal of another process";
      for (const [name, value] of [
        ["p50", medianOf(delays)],
        ["p99", quantile(delays, 0.99)],
      ] as const)
        rows.push({ group, name, value, unit: "ms" });
      budgets.push(createBudget(`${group}, p99`, quantile(delays, 0.99), 600, "ms"));
    } finally {
      client.disconnect();
      await redis.remove();
    }
    return { rows, budgets };
  },
};

async function measureChecks(principal: Principal, isShort: boolean): Promise<readonly [string, number][]> {
  // Longer than the measurement, so that each answer is fresh.
  const idle = sharedRevocation(memoryStore(), { freshMs: 60_000, staleSeconds: 3_600 });
  const changed = sharedRevocation(memoryStore(), { freshMs: 60_000, staleSeconds: 3_600 });
  for (let index = 0; index < 10_000; index += 1)
    await changed.revoke({ tokenId: randomUUID() }, {}, { nowMs: Date.now(), toleranceSeconds: 0 });
  for (const store of [idle, changed]) await store.isRevoked(principal);
  const measured = await compare(
    [
      contestant(FRESH, () => assertAccepted(idle, principal)),
      contestant(AFTER_CHANGES, () => assertAccepted(changed, principal)),
    ],
    isShort ? { count: 10, us: 5_000, warmUpUs: 50_000 } : { count: 40, us: 20_000, warmUpUs: 500_000 },
  );
  return [FRESH, AFTER_CHANGES].map((name) => [name, medianOf(findMeasured(measured, name).samples)]);
}

/** The time of a check that asks Redis for one caller, which nothing else does at the same time. */
async function measureStale(principal: Principal, client: Redis, isShort: boolean): Promise<number> {
  const shared = sharedRevocation(redisStore(client), { freshMs: 0 });
  const times: number[] = [];
  for (let index = 0; index < (isShort ? 200 : 5_000); index += 1) {
    const start = performance.now();
    if (await shared.isRevoked(principal)) throw new Error("The principal is revoked.");
    times.push((performance.now() - start) * 1_000);
  }
  return medianOf(times);
}

function assertAccepted(revocation: Pick<Revocations, "isRevoked">, principal: Principal): void {
  if (revocation.isRevoked(principal) !== false) throw new Error("The answer is not fresh.");
}

/** Sends requests of many callers for some seconds, and measures what they cost this process and Redis. */
async function measureLoad(
  server: ResourceServer,
  client: Redis,
  tokens: number,
  seconds: number,
): Promise<readonly Row[]> {
  const principals: Principal[] = [];
  for (let index = 0; index < tokens; index += 1)
    principals.push(await server.authenticate(signer.sign(newClaims())));
  let roundTrips = 0;
  let keys = 0;
  const store = redisStore(client);
  const counting: Store = {
    ...store,
    get(asked) {
      roundTrips += 1;
      keys += asked.length;
      return store.get(asked);
    },
  };
  const shared = sharedRevocation(counting);
  const heapBefore = heapUsed();
  const askedFirst = principals.map((principal) => shared.isRevoked(principal));
  for (const answer of askedFirst) await answer;
  const bytes = (heapUsed() - heapBefore) / tokens;
  roundTrips = 0;
  keys = 0;
  const redisBefore = await cpuOf(client);
  const cpuBefore = process.cpuUsage();
  const perSecond = (REQUESTS_PER_SECOND * tokens) / ACTIVE_TOKENS;
  const start = performance.now();
  let sent = 0;
  const asked: (boolean | Promise<boolean>)[] = [];
  for (;;) {
    const elapsed = (performance.now() - start) / 1000;
    if (elapsed >= seconds) break;
    for (; sent < elapsed * perSecond; sent += 1) {
      const principal = principals[(sent * 7_919) % tokens];
      if (principal) asked.push(shared.isRevoked(principal));
    }
    await setImmediate();
  }
  for (const answer of asked) await answer;
  const { user, system } = process.cpuUsage(cpuBefore);
  const redisCpu = (await cpuOf(client)) - redisBefore;
  shared.close();
  const group = `${tokens.toLocaleString("en")} active tokens, ${perSecond.toLocaleString("en")} requests per second`;
  const rows: readonly Row[] = [
    { group, name: "round trips per second", value: roundTrips / seconds, unit: "" },
    { group, name: "keys per second", value: keys / seconds, unit: "" },
    {
      group,
      name: "CPU of the process, with the loop that sends",
      value: ((user + system) / 1e6 / seconds) * 100,
      unit: "%",
    },
    { group, name: "CPU of Redis", value: (redisCpu / seconds) * 100, unit: "%" },
    { group, name: "memory of an active token", value: bytes, unit: "bytes" },
  ];
  return rows;
}

/** The CPU time of Redis, in seconds. */
async function cpuOf(client: Redis): Promise<number> {
  const info = await client.info("cpu");
  const read = (name: string) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
  return read("used_cpu_sys") + read("used_cpu_user");
}

function heapUsed(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Milliseconds from the moment at which `revoke` has returned until each of two processes refuses. */
async function measureDelays(url: string, client: Redis, rounds: number): Promise<readonly number[]> {
  const program = fileURLToPath(new URL("revocation-member.ts", import.meta.url));
  const members = [1, 2].map(() => fork(program, [JSON.stringify({ url, secret: signer.text })]));
  const server = createResourceServer({
    serviceId: AUDIENCE,
    algorithm: "HS256",
    verificationKeys: [signer.text],
    revocation: sharedRevocation(redisStore(client)),
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
