/** Values that may be used once, in memory and in Redis. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { inMemoryReplayStore, redisReplayStore, type ReplayStore } from "scopegate/replay";
import { REDIS_URL, useRedisClients } from "../../support/redis.ts";

const later = (ms = 60_000) => new Date(Date.now() + ms);

function describeStore(name: string, create: () => ReplayStore) {
  describe(name, () => {
    it("returns true once for each id", async () => {
      const store = create();
      const [one, other] = [randomUUID(), randomUUID()];
      expect(await store.remember(one, later())).toBe(true);
      expect(await store.remember(one, later())).toBe(false);
      expect(await store.remember(other, later())).toBe(true);
    });

    it("returns true to exactly one of many concurrent callers", async () => {
      const store = create();
      const id = randomUUID();
      const answers = await Promise.all(Array.from({ length: 50 }, () => store.remember(id, later())));
      expect(answers.filter((isFirst) => isFirst)).toHaveLength(1);
    });

    it("returns false for a time that has passed", async () => {
      const store = create();
      expect(await store.remember(randomUUID(), new Date(Date.now() - 1000))).toBe(false);
      expect(await store.remember(randomUUID(), new Date(0))).toBe(false);
    });

    it.each<readonly [unknown, unknown]>([
      ["", later()],
      [undefined, later()],
      ["id", new Date("never")],
      ["id", 5],
    ])("throws for the id %j until %s", async (id, until) => {
      await expect(create().remember(id as string, until as Date)).rejects.toThrow(TypeError);
    });
  });
}

describeStore("inMemoryReplayStore", inMemoryReplayStore);

describe("inMemoryReplayStore, full", () => {
  it("throws instead of forgetting an id, and takes ids again when others have ended", async () => {
    let now = 1_000;
    const store = inMemoryReplayStore({ maxEntries: 2, now: () => now });
    expect(await store.remember("a", new Date(2_000))).toBe(true);
    expect(await store.remember("b", new Date(9_000))).toBe(true);
    await expect(store.remember("c", new Date(9_000))).rejects.toThrow("is full (2 ids)");
    now = 2_000;
    expect(await store.remember("c", new Date(9_000))).toBe(true);
    expect(await store.remember("b", new Date(9_000))).toBe(false);
  });

  it.each([0, 1.5, Number.NaN])("refuses %d as maxEntries", (maxEntries) => {
    expect(() => inMemoryReplayStore({ maxEntries })).toThrow("whole number");
  });
});

describe.skipIf(!REDIS_URL)("redisReplayStore", () => {
  const { prefix, clients } = useRedisClients();

  describeStore("with ioredis", () => redisReplayStore(clients.ioredis, { prefix }));
  describeStore("with redis", () => redisReplayStore(clients.redis, { prefix }));

  it("shares ids between clients, and lets Redis forget them", async () => {
    const id = randomUUID();
    const [one, other] = [clients.ioredis, clients.redis].map((client) =>
      redisReplayStore(client, { prefix }),
    );
    expect(await one?.remember(id, later())).toBe(true);
    expect(await other?.remember(id, later())).toBe(false);
    expect(await clients.ioredis.pttl(prefix + id)).toBeGreaterThan(50_000);
  });

  it("refuses anything but a client", () => {
    expect(() => redisReplayStore({} as never)).toThrow("a client of the package `redis` or `ioredis`");
  });
});
