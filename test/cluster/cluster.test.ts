/** Three processes of the example under load, while tokens are revoked and Redis fails in several ways. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createResourceServer, type ResourceServer } from "scopegate";
import { redisRevocation, type RevocationTarget } from "scopegate/revocation";
import { createIssuer } from "../support/issuer.ts";
import { HAS_REDIS_SERVER, type RedisInstance, startRedis } from "../support/redis-server.ts";
import { type Load, startLoad, type Tracked } from "./load.ts";
import { type Member, startMember } from "./members.ts";
import { type Proxy, startProxy } from "./proxy.ts";

const STALE_SECONDS = 3;
const PER_KIND = 40;
const ENTRIES = "scopegate:revoked:entries";
const issuer = createIssuer();

type Kind = (index: number) => {
  readonly claims: object;
  readonly target: (token: string) => RevocationTarget;
};

const KINDS: readonly Kind[] = [
  (n) => ({ claims: { sub: "u0", jti: `t${n}` }, target: (token) => ({ token }) }),
  (n) => ({ claims: { sub: `u${n}`, jti: `u${n}` }, target: () => ({ userId: `u${n}` }) }),
  (n) => ({
    claims: { sub: "u0", session_id: `s${n}`, jti: `s${n}` },
    target: () => ({ sessionId: `s${n}` }),
  }),
];

describe.skipIf(!HAS_REDIS_SERVER)("three processes that share a store", () => {
  const folder = mkdtempSync(join(tmpdir(), "scopegate-cluster-"));
  const config = join(folder, "service.json");
  let [primary, replica]: (RedisInstance | undefined)[] = [];
  let proxy: Proxy;
  let members: Member[] = [];
  let operator: { readonly server: ResourceServer; readonly client: Redis };
  let load: Load;
  /** The tokens of each kind, with what revokes them. */
  const pools: (Tracked & { readonly target: RevocationTarget })[][] = [];
  const heaps: number[] = [];

  const heapOf = async (): Promise<number> => {
    const bytes = await Promise.all(members.map((member) => member.heap()));
    return bytes.reduce((sum, ofMember) => sum + ofMember, 0);
  };

  beforeAll(async () => {
    const now = Math.floor(Date.now() / 1000);
    const base = {
      aud: "agents-prod",
      iss: "https://login.example/",
      iat: now - 60,
      exp: now + 3600,
      scopes: ["agents:read"],
    };
    for (const kind of KINDS) {
      const pool = Array.from({ length: PER_KIND }, async (_, index) => {
        const { claims, target } = kind(index + 1);
        const token = await issuer.token({ ...base, ...claims });
        return { token, target: target(token), revokedAt: undefined, isBeingRevoked: false };
      });
      pools.push(await Promise.all(pool));
    }
    const settings = { service_id: "agents-prod", verification_keys: [issuer.publicPem] };
    writeFileSync(config, JSON.stringify(settings));
    primary = await startRedis();
    proxy = await startProxy(primary.port);
    const store = `redis://127.0.0.1:${proxy.port}?stale_seconds=${STALE_SECONDS}`;
    members = await Promise.all([1, 2, 3].map(() => startMember(config, store)));
    const client = new Redis(proxy.port, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    client.on("error", () => undefined);
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      revocation: redisRevocation(client, { staleSeconds: STALE_SECONDS, onEvent: () => undefined }),
    });
    await server.ready();
    operator = { server, client };
    load = startLoad(members, pools.flat(), 6);
  }, 60_000);

  afterAll(async () => {
    await load.stop();
    await operator.server.close();
    operator.client.disconnect();
    await Promise.all(members.map((member) => member.stop()));
    await proxy.close();
    await replica?.remove();
    await primary?.remove();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  /** Revokes `count` tokens, users and sessions that are not revoked yet. */
  const revokeSome = async (count: number): Promise<void> => {
    for (const pool of pools) {
      const valid = pool.filter(({ revokedAt }) => revokedAt === undefined);
      for (const tracked of valid.slice(0, count)) {
        tracked.isBeingRevoked = true;
        await operator.server.revoke(tracked.target);
        tracked.revokedAt = performance.now();
      }
    }
  };

  const statusOf = async ({ url }: Pick<Member, "url">, token: string): Promise<number> =>
    (await fetch(`${url}/agents`, { headers: { authorization: `Bearer ${token}` } })).status;
  /** Waits until every process answers a valid token with a status. */
  const untilAll = async (status: number) => {
    const valid = pools.flat().find(({ isBeingRevoked }) => !isBeingRevoked);
    if (!valid) throw new Error("All tokens are revoked.");
    const statuses = () => Promise.all(members.map((member) => statusOf(member, valid.token)));
    await expect.poll(statuses, { timeout: 20_000 }).toEqual([status, status, status]);
  };
  /** Waits until a store has this many entries. */
  const untilEntries = (client: Redis, count: number) =>
    expect.poll(() => client.xlen(ENTRIES), { timeout: 10_000 }).toBeGreaterThanOrEqual(count);
  const expectNoMistake = () => {
    expect(load.tally.late).toEqual([]);
    expect(load.tally.wrong).toEqual([]);
  };
  /** Every process answers 503 after the outage has begun, and works as before when it has ended. */
  const expectOutage = async (begin: () => unknown, end: () => unknown) => {
    load.isStoreDown = true;
    load.isOutage = true;
    begin();
    await untilAll(503);
    await end();
    await untilAll(200);
    // A read that had to wait may still be too old for a moment.
    await pause(500);
    load.isOutage = false;
    load.isStoreDown = false;
    await revokeSome(1);
    await pause(1500);
    expectNoMistake();
  };
  /** What is revoked stays revoked, in a process that starts now as well. */
  const expectAllRevoked = async () => {
    const late = await startMember(config, `redis://127.0.0.1:${proxy.port}`);
    try {
      for (const { token, revokedAt } of pools.flat())
        if (revokedAt !== undefined) expect(await statusOf(late, token)).toBe(401);
    } finally {
      await late.stop();
    }
  };

  it("reject every revoked token within a second, and no other token", async () => {
    for (let round = 0; round < 8; round += 1) {
      await revokeSome(1);
      await pause(200);
    }
    await pause(1500);
    expectNoMistake();
    expect(load.tally.counts.get(200)).toBeGreaterThan(100);
    expect(load.tally.counts.get(401)).toBeGreaterThan(10);
    heaps.push(await heapOf());
    const sorted = [...load.tally.delays].sort((a, b) => a - b);
    console.log(
      `Accepted after a revocation: ${sorted.length} requests, the last one ${Math.round(sorted.at(-1) ?? 0)} ms after it.`,
    );
  }, 60_000);

  it("accept valid tokens without Redis for `staleSeconds`, then answer 503, and recover with an empty Redis", async () => {
    await primary?.stop();
    load.isStoreDown = true;
    await pause(1000);
    expectNoMistake();
    await expectOutage(
      () => undefined,
      () => primary?.restart(),
    );
    await expectAllRevoked();
  }, 60_000);

  it("restore a store that was flushed", async () => {
    await operator.client.flushall();
    await untilEntries(operator.client, 1);
    await revokeSome(1);
    await pause(1500);
    expectNoMistake();
    await expectAllRevoked();
  }, 60_000);

  it("accept valid tokens while Redis hangs for a short time, and answer 503 if it hangs for longer", async () => {
    load.isStoreDown = true;
    primary?.process().kill("SIGSTOP");
    await pause(1000);
    primary?.process().kill("SIGCONT");
    await pause(500);
    expectNoMistake();
    await expectOutage(
      () => primary?.process().kill("SIGSTOP"),
      () => primary?.process().kill("SIGCONT"),
    );
  }, 60_000);

  it("answer 503 when the network is cut, and recover", async () => {
    await expectOutage(
      () => proxy.partition(true),
      () => proxy.partition(false),
    );
  }, 60_000);

  it("write entries again that a replica did not have when it took over", async () => {
    if (!primary) throw new Error("No primary.");
    replica = await startRedis(primary);
    const direct = new Redis(replica.port);
    await untilEntries(direct, 1);
    // From here on, the replica gets nothing.
    await direct.replicaof("NO", "ONE");
    const before = await direct.xlen(ENTRIES);
    await revokeSome(2);
    await pause(1000);
    load.isStoreDown = true;
    await primary.stop();
    proxy.switchTo(replica.port);
    await untilEntries(direct, before + 6);
    load.isStoreDown = false;
    await revokeSome(1);
    await pause(1500);
    expectNoMistake();
    await expectAllRevoked();
    direct.disconnect();
  }, 60_000);

  it("keep the size of their heap", async () => {
    heaps.push(await heapOf());
    const [first = 0, last = 0] = heaps;
    console.log(
      `Heap of the three processes: ${[first, last].map((bytes) => (bytes / 1e6).toFixed(1)).join(" -> ")} MB.`,
    );
    expect(last).toBeLessThan(first * 1.2 + 5_000_000);
    console.log(`Answers: ${JSON.stringify(Object.fromEntries(load.tally.counts))}.`);
  }, 30_000);
});
