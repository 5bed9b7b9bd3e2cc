/**
 * Three processes share revocations through Redis, while Redis, the network and the clocks fail in many ways.
 * An oracle compares each answer with what was revoked, and the results are a table of the documentation.
 */
import { Redis } from "ioredis";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { sharedRevocation } from "scopegate/revocation";
import { redisStore } from "scopegate/store";
import { createIssuer } from "../support/issuer.ts";
import {
  DURABLE,
  HAS_REDIS_SERVER,
  type RedisInstance,
  startCluster,
  startRedis,
  startSentinel,
} from "../support/redis-server.ts";
import { createResourceServer } from "../support/server.ts";
import { type ClientSettings, connectClient, hasClient, labelOf, OLD_CLIENTS } from "./clients.ts";
import { type Fault, startProxy } from "./proxy.ts";
import { addRow, finishResults } from "./results.ts";
import {
  newToken,
  passing,
  type Service,
  STALE_SECONDS,
  startMember,
  startService,
  statusOf,
} from "./service.ts";
import { startTenants } from "./tenants.ts";

/** Longer than the processes use old answers. */
const LONG_MS = STALE_SECONDS * 1_000 + 1_500;
const SHORT_MS = 1_000;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const cleanedUp = <Started extends { remove(): unknown } | { close(): unknown } | { stop(): unknown }>(
  started: Started,
): Started => {
  cleanups.push(() => {
    if ("remove" in started) return started.remove();
    return "close" in started ? started.close() : started.stop();
  });
  return started;
};

const ioredis = (port: number) => ({ package: "ioredis", port });

/** Redis, a proxy in front of it, and three processes that use both. */
async function start(
  settings: readonly string[] = DURABLE,
  options: Parameters<typeof startService>[1] = {},
  name = "ioredis",
) {
  const redis = cleanedUp(await startRedis(undefined, settings));
  const proxy = cleanedUp(await startProxy(redis.port));
  const service = cleanedUp(await startService({ package: name, port: proxy.port }, options));
  await service.revoke(6);
  await service.settle();
  return { redis, proxy, service };
}

const issuer = createIssuer();

/** A server that shares revocations by this client. */
async function startServer(settings: ClientSettings, options: { freshMs?: number; staleSeconds?: number }) {
  const { client, close } = await connectClient(settings);
  const revocation = sharedRevocation(redisStore(client), { ...options, onEvent: () => undefined });
  const server = createResourceServer({ serviceId: "a", verificationKeys: [issuer.publicPem], revocation });
  const stop = async () => {
    await server.close();
    await close();
  };
  return cleanedUp({ server, stop });
}

async function startNodes(...settings: readonly string[]) {
  const nodes = await startCluster(...settings);
  for (const node of nodes) cleanedUp(node);
  const [first, second] = nodes;
  if (!first || !second) throw new Error("No cluster.");
  return { nodes, second, client: { package: "ioredis", port: first.port, mode: "cluster" } as const };
}

/** Connects to a replica that has the data of its primary. */
async function connectTo(replica: RedisInstance): Promise<Redis> {
  const direct = new Redis(replica.port);
  // A server that is killed later is no fault of this client.
  direct.on("error", () => undefined);
  await expect.poll(() => direct.info("replication"), { timeout: 10_000 }).toContain("master_link_status:up");
  return direct;
}

/** Revokes a little, and waits until all processes know it. */
async function expectWorks(service: Service): Promise<void> {
  await service.revoke(3);
  await service.settle();
}

const IN_OUTAGE = `known callers: no change for ${STALE_SECONDS} s, then 503`;

afterAll(finishResults);

describe.skipIf(!HAS_REDIS_SERVER)("two processes with the issuers of tenants in Redis", () => {
  it("lose no request of a tenant while others are added and removed, whose tokens and streams end", async () => {
    const redis = cleanedUp(await startRedis());
    const service = cleanedUp(await startTenants(redis.port, ["a", "b", "c"]));
    const { tenants, tally } = service;
    const [first, , changing] = tenants;
    if (!first || !changing) throw new Error("No tenants.");
    await service.settle();
    const staying = Promise.race(service.openStreams(first));
    for (let round = 0; round < 10; round += 1) {
      const streams = service.openStreams(changing);
      // The streams are open when the record goes.
      await passing(200);
      await service.change(changing, false);
      const events = await Promise.all(streams);
      for (const event of events) expect(event).toContain('event: access_ended\ndata: {"reason":"revoked"');
      expect(performance.now() - changing.change.at).toBeLessThan(2_500);
      await service.settle();
      await service.change(changing, true);
      await service.settle();
    }
    const before = await Promise.all(service.members.map((member) => member.questions()));
    const since = performance.now();
    const statuses = await service.flood(500);
    expect(new Set(statuses)).toEqual(new Set([401]));
    const seconds = (performance.now() - since) / 1_000;
    const after = await Promise.all(service.members.map((member) => member.questions()));
    for (const [index, count] of after.entries())
      expect(count - (before[index] ?? 0)).toBeLessThan(100 + 20 * seconds + tenants.length * (seconds + 2));
    expect(tally).toMatchObject({ wronglyAccepted: 0, wronglyRefused: 0, unavailable: 0 });
    expect(tally.requests).toBeGreaterThan(1_000);
    expect(await Promise.race([staying, Promise.resolve("open")])).toBe("open");
    addRow(
      "two processes, three issuers: one is removed and added 10 times, then 500 invented issuers",
      "the right response; streams of the removed issuer end",
      tally,
    );
  }, 180_000);
});

describe.skipIf(!HAS_REDIS_SERVER)("three processes that share revocations", () => {
  it("refuse every revoked token within `freshMs` and a round trip, and no other, with a heap that stays", async () => {
    const { service } = await start();
    const heapOf = async () =>
      Math.max(...(await Promise.all(service.members.map((member) => member.heap()))));
    const before = await heapOf();
    for (let round = 0; round < 10; round += 1) {
      await service.revoke(3);
      await passing(300);
    }
    await service.settle();
    expect(service.tally.requests).toBeGreaterThan(500);
    expect(await heapOf()).toBeLessThan(before * 1.3 + 5_000_000);
    addRow("none", "the right response", service.tally);
  }, 60_000);

  it.each<readonly [string, (redis: RedisInstance) => Promise<unknown>, (redis: RedisInstance) => unknown]>([
    ["Redis is killed, and restarts with its data", (redis) => redis.stop(), (redis) => redis.restart()],
    [
      "Redis hangs",
      (redis) => Promise.resolve(redis.process().kill("SIGSTOP")),
      (redis) => redis.process().kill("SIGCONT"),
    ],
  ])(
    "%s",
    async (fault, begin, end) => {
      const { redis, service } = await start();
      await service.outage(async () => {
        await begin(redis);
        await passing(SHORT_MS);
        await end(redis);
      });
      await expectWorks(service);
      await service.outage(async () => {
        await begin(redis);
        await passing(LONG_MS);
        await service.untilAll(503);
        // A process that starts now knows nothing, and accepts nothing.
        const late = cleanedUp(await startMember(ioredis(redis.port)));
        expect(await statusOf(late, await newToken())).toBe(503);
        await end(redis);
        await expect.poll(async () => statusOf(late, await newToken()), { timeout: 20_000 }).toBe(200);
        await service.expectAllRevoked(late);
      });
      await expectWorks(service);
      addRow(fault, IN_OUTAGE, service.tally);
    },
    90_000,
  );

  it.each(
    (["cut", "half-open", "refused", "cut replies"] as const).flatMap((fault) =>
      ["ioredis", "redis"].map((name): readonly [Fault, string] => [fault, name]),
    ),
  )(
    "the network fails: %s, with the client %s",
    async (fault, name) => {
      const { proxy, service } = await start(DURABLE, {}, name);
      await service.outage(async () => {
        await proxy.set(fault);
        // The client of redis connects before the process starts.
        const late = name === "redis" ? undefined : cleanedUp(await startMember(ioredis(proxy.port)));
        await passing(LONG_MS);
        await service.untilAll(503);
        if (late) expect(await statusOf(late, await newToken())).toBe(503);
        await proxy.set("none");
        if (!late) return;
        await expect.poll(async () => statusOf(late, await newToken()), { timeout: 20_000 }).toBe(200);
        await service.expectAllRevoked(late);
      });
      await expectWorks(service);
      addRow(`the network fails: ${fault}; the client ${name}`, IN_OUTAGE, service.tally);
    },
    90_000,
  );

  it.each([400, 1_500])(
    "each response takes %i ms longer",
    async (ms) => {
      const { proxy, service } = await start();
      proxy.delay(ms);
      service.setLatency(ms);
      await passing(3 * ms);
      await expectWorks(service);
      addRow(`each reply takes ${ms} ms longer`, "the right response, later", service.tally);
    },
    90_000,
  );

  it.each(["restarts without data", "is flushed"])(
    "Redis %s",
    async (fault) => {
      const { redis, service } = await start([]);
      service.forgetRevoked();
      if (fault === "is flushed") {
        const client = new Redis(redis.port);
        await client.flushall();
        client.disconnect();
      } else
        await service.outage(async () => {
          await redis.stop();
          await redis.restart();
        });
      await expectWorks(service);
      addRow(`Redis ${fault}`, "earlier revocations are lost", service.tally);
    },
    60_000,
  );

  it("a process that starts with 1,000,000 revocations responds at once, and knows them", async () => {
    const { redis, service } = await start(["--enable-debug-command", "local"]);
    const client = new Redis(redis.port);
    const count = process.env["SCOPEGATE_CLUSTER"] === "full" ? 5_000_000 : 1_000_000;
    // Redis does nothing else in the seconds that this takes.
    await service.outage(() =>
      client.call("DEBUG", "POPULATE", String(count), "scopegate:revoked:token:x", "60"),
    );
    client.disconnect();
    const late = cleanedUp(await startMember(ioredis(redis.port)));
    const since = performance.now();
    expect(await statusOf(late, await newToken())).toBe(200);
    const tookMs = Math.round(performance.now() - since);
    expect(tookMs).toBeLessThan(1_000);
    await service.expectAllRevoked(late);
    await expectWorks(service);
    const fault = `${count.toLocaleString("en")} revocations; a process starts`;
    addRow(fault, `the right response, first after ${tookMs} ms`, service.tally);
  }, 120_000);

  it("a flood of revocations delays no other", async () => {
    const { service } = await start([]);
    const since = performance.now();
    const flood = Array.from({ length: 10_000 }, (_, id) =>
      service.operator.revoke({ tokenId: `flood-${id}` }),
    );
    await service.revoke(3);
    await Promise.all(flood);
    const seconds = (performance.now() - since) / 1_000;
    await service.settle();
    const fault = `10,000 revocations at once, by one process in ${seconds.toFixed(1)} s`;
    addRow(fault, "the right response", service.tally);
  }, 60_000);

  it("clocks that are 20 minutes ahead and behind make no difference", async () => {
    const settings = [{ aheadSeconds: 1_200 }, {}, { aheadSeconds: -1_200 }];
    const { service } = await start([], { settings });
    await expectWorks(service);
    addRow("clocks are 20 minutes ahead and behind", "the right response", service.tally);
  }, 60_000);

  it.each([10, 1_200])(
    "a process that revokes, and whose clock is %i s behind, revokes as the clock of Redis says",
    async (seconds) => {
      const { service } = await start([], { operatorAheadSeconds: -seconds });
      await expectWorks(service);
      addRow(
        `the clock of the process that revokes is ${seconds} s behind`,
        "the right response",
        service.tally,
      );
    },
    60_000,
  );

  it.each(["ioredis", "redis"])(
    "revocations of one user by 4 processes at once are all kept, with %s",
    async (name) => {
      const redis = cleanedUp(await startRedis());
      const now = Math.floor(Date.now() / 1_000);
      const servers = await Promise.all(
        [1, 2, 3, 4].map(() => startServer({ package: name, port: redis.port }, { freshMs: 0 })),
      );
      for (let round = 0; round < 10; round += 1) {
        const user = `u${round}`;
        const widest = Math.floor(Math.random() * 40);
        await Promise.all(
          Array.from({ length: 40 }, async (_, index) => {
            const before = new Date((index === widest ? now : now - 600 - index) * 1_000);
            const until = new Date((now + (index === 39 - widest ? 7_200 : 60)) * 1_000);
            await servers[index % 4]?.server.revoke({ userId: user, before }, { until });
          }),
        );
        const token = await issuer.token({ aud: "a", sub: user, iat: now - 1, exp: now + 600, scopes: [] });
        await expect(servers[0]?.server.authenticate(token)).rejects.toThrow("revoked");
        const direct = new Redis(redis.port);
        const value = JSON.parse((await direct.get(`scopegate:revoked:user:${user}`)) ?? "{}") as object;
        direct.disconnect();
        expect(value).toMatchObject({ before: now, until: now + 7_200 });
      }
      addRow(`400 revocations of 10 users by 4 processes at once; the client ${name}`, "none is lost");
    },
    60_000,
  );

  it("Redis Cluster without full coverage: a dead node concerns only the callers whose keys are on it", async () => {
    const { second, client } = await startNodes("--cluster-require-full-coverage", "no");
    const { server } = await startServer(client, { staleSeconds: 2 });
    const exp = Math.floor(Date.now() / 1_000) + 600;
    const tokens = await Promise.all(
      Array.from({ length: 60 }, (_, id) => issuer.token({ aud: "a", jti: `t${id}`, exp, scopes: [] })),
    );
    const statuses = () =>
      Promise.all(
        tokens.map((token) =>
          server.authenticate(token).then(
            () => 200,
            () => 503,
          ),
        ),
      );
    expect(await statuses()).toEqual(tokens.map(() => 200));
    await second.stop();
    await passing(5_000);
    // Until then, each token keeps its answer or is refused, and nobody waits for the dead node.
    await expect
      .poll(async () => (await statuses()).filter((status) => status === 503).length, { timeout: 20_000 })
      .toBeGreaterThan(5);
    const since = performance.now();
    const during = await statuses();
    expect(performance.now() - since).toBeLessThan(1_000);
    expect(during.filter((status) => status === 200).length).toBeGreaterThan(20);
    expect(server.health()).toMatchObject({ status: "degraded" });
    addRow(
      "Redis Cluster of three primaries without full coverage: one is killed",
      "503 only to callers with keys on it",
    );
  }, 90_000);

  it("a full Redis rejects revocations instead of losing others, if it has no eviction", async () => {
    const redis = cleanedUp(await startRedis());
    const service = cleanedUp(await startService(ioredis(redis.port)));
    await service.revoke(6);
    await service.operator.ready();
    expect(service.operator.health().revocation?.warnings).toEqual([expect.stringContaining("appendonly")]);
    const client = new Redis(redis.port);
    await client.config("SET", "maxmemory", "1");
    await expect(service.operator.revoke({ userId: "any" })).rejects.toThrow("didn't confirm");
    await service.settle();
    await service.expectAllRevoked(cleanedUp(await startMember(ioredis(redis.port))));
    // A copy, because Redis may delete revocations from here on.
    addRow("the memory of Redis is full (noeviction)", "the right response; `revoke` rejects", {
      ...service.tally,
    });
    expect(service.operator.health()).toMatchObject({ status: "degraded" });
    await expect(service.operator.ready()).rejects.toThrow("OOM");
    await client.config("SET", "maxmemory-policy", "allkeys-lru");
    client.disconnect();
    await service.operator.ready({ readOnly: true });
    expect(service.operator.health().revocation?.warnings).toContainEqual(
      expect.stringContaining("noeviction"),
    );
  }, 60_000);

  it("a replica takes over by Sentinel, and no revocation that it has is lost", async () => {
    const primary = cleanedUp(await startRedis());
    const replica = cleanedUp(await startRedis(primary));
    const sentinel = cleanedUp(await startSentinel(primary));
    const direct = await connectTo(replica);
    const client = { package: "ioredis", port: sentinel.port, mode: "sentinel" } as const;
    const service = cleanedUp(await startService(client));
    await service.revoke(9);
    await service.settle();
    await service.outage(async () => {
      await primary.stop();
      await expect.poll(() => direct.info("replication"), { timeout: 20_000 }).toContain("role:master");
    });
    await expectWorks(service);
    await service.expectAllRevoked(cleanedUp(await startMember(client)));
    direct.disconnect();
    addRow("the primary is killed, and Sentinel promotes a replica", IN_OUTAGE, service.tally);
  }, 90_000);

  it("with `min-replicas-to-write`, a primary without its replicas takes no revocation", async () => {
    const settings = [
      ...["--min-replicas-to-write", "1", "--min-replicas-max-lag", "1", "--repl-ping-replica-period", "1"],
    ];
    const primary = cleanedUp(await startRedis(undefined, settings));
    const replica = cleanedUp(await startRedis(primary));
    const service = cleanedUp(await startService(ioredis(primary.port)));
    await expect
      .poll(
        () =>
          service.operator.revoke({ userId: "first" }).then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(true);
    await service.revoke(3);
    replica.process().kill("SIGSTOP");
    const revokeAny = () => service.operator.revoke({ userId: `any-${Math.random()}` }).catch(String);
    await expect.poll(revokeAny, { timeout: 10_000 }).toContain("didn't confirm");
    expect(service.operator.health()).toMatchObject({ status: "degraded" });
    await service.settle();
    addRow(
      "the primary is cut off from its replica; with `min-replicas-to-write`",
      "the right response; `revoke` rejects",
      service.tally,
    );
  }, 60_000);

  it("a client that reads from a replica knows what the replica knows", async () => {
    const primary = cleanedUp(await startRedis());
    const replica = cleanedUp(await startRedis(primary));
    const direct = await connectTo(replica);
    const reader = cleanedUp(await startMember(ioredis(replica.port)));
    const service = cleanedUp(await startService(ioredis(primary.port)));
    const [early = ""] = await service.revoke(1);
    await expect.poll(() => statusOf(reader, early), { timeout: 5_000 }).toBe(401);
    await direct.replicaof("NO", "ONE");
    const [late = ""] = await service.revoke(1);
    await service.settle();
    expect(await statusOf(reader, late)).toBe(200);
    await direct.replicaof("127.0.0.1", String(primary.port));
    await expect.poll(() => statusOf(reader, late), { timeout: 10_000 }).toBe(401);
    direct.disconnect();
    addRow(
      "one process reads from a replica that is cut off",
      "the replica's response, until it's connected again",
    );
  }, 60_000);

  it("Redis Cluster: the keys of a caller are on several nodes, and one of them is killed", async () => {
    const { nodes, second, client } = await startNodes();
    const service = cleanedUp(await startService(client));
    await service.revoke(9);
    await service.settle();
    await service.outage(async () => {
      await second.stop();
      await passing(LONG_MS);
      await second.restart();
      // Each node learns it by itself.
      for (const { port } of nodes) {
        const direct = new Redis(port);
        await expect.poll(() => direct.cluster("INFO"), { timeout: 20_000 }).toContain("cluster_state:ok");
        direct.disconnect();
      }
    });
    await expectWorks(service);
    addRow("Redis Cluster of three primaries: one is killed", IN_OUTAGE, service.tally);
  }, 120_000);

  const clients = ["ioredis", "redis", ...OLD_CLIENTS.filter(hasClient)];
  if (clients.length === 2)
    console.log(
      "Skipped: older clients of Redis, because SCOPEGATE_REDIS_CLIENTS names no folder with them.",
    );

  it.each(clients)(
    "the client %s works with a server, Sentinel and Cluster",
    async (name) => {
      const primary = cleanedUp(await startRedis());
      const replica = cleanedUp(await startRedis(primary));
      const sentinel = cleanedUp(await startSentinel(primary));
      const { client } = await startNodes();
      (await connectTo(replica)).disconnect();
      const modes = [
        { mode: "server", port: primary.port },
        { mode: "sentinel", port: sentinel.port },
        { mode: "cluster", port: client.port },
      ] as const;
      for (const { mode, port } of modes) {
        // redis 4 has no client for Sentinel.
        if (name === "redis4" && mode === "sentinel") continue;
        const { server } = await startServer({ package: name, port, mode }, { freshMs: 0 });
        await server.ready();
        const exp = Math.floor(Date.now() / 1000) + 600;
        for (let user = 0; user < 10; user += 1) {
          const token = await issuer.token({ aud: "a", sub: `u${user}`, jti: `t${user}`, exp, scopes: [] });
          await server.authenticate(token);
          await server.revoke({ userId: `u${user}` });
          await expect(server.authenticate(token)).rejects.toThrow("revoked");
          expect(await server.unrevoke({ userId: `u${user}` })).toBe(true);
          await server.authenticate(token);
        }
      }
      addRow(`none; the client ${labelOf(name)}`, "the right response");
    },
    120_000,
  );
});
