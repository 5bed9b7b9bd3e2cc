/** The port that everything shared goes through: one contract for each store. */
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { PGlite } from "@electric-sql/pglite";
import { Redis } from "ioredis";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { memoryStore, redisStore, type RedisClient, type Store, type StoreOptions } from "scopegate/store";
import { Breaker } from "../../src/core/runtime/breaker.ts";
import { ConfigurationError } from "../../src/core/errors.ts";
import { postgresStore } from "../../examples/stores/postgres.ts";
import { REDIS_URL, useRedisClients } from "../support/redis.ts";

const soon = { timeout: 5_000, interval: 10 };
const newKey = () => `key-${randomUUID()}`;

function describeStore(name: string, create: () => Store | Promise<Store>) {
  describe(name, () => {
    it("returns the value of each key in the order of the keys, and undefined for absent ones", async () => {
      const store = await create();
      const [a, b] = [newKey(), newKey()];
      await store.set(a, "1");
      await store.set(b, "2");
      expect(await store.get([b, newKey(), a, b])).toEqual(["2", undefined, "1", "2"]);
      expect(await store.get([])).toEqual([]);
    });

    it("stores any string under any key", async () => {
      const store = await create();
      for (const text of ["", " ", "a:b{c}*", "ü\u{1f600}", "__proto__", "x".repeat(5_000)]) {
        const key = newKey() + text.slice(0, 200);
        expect(await store.set(key, text)).toBe(true);
        expect(await store.get([key])).toEqual([text]);
      }
      expect(await store.get(["__proto__", "constructor"])).toEqual([undefined, undefined]);
    });

    it("replaces a value, and its end", async () => {
      const store = await create();
      const key = newKey();
      const later = newKey();
      await store.set(key, "1", { ttlMs: 20 });
      expect(await store.set(key, "2")).toBe(true);
      await store.set(later, "1", { ttlMs: 30 });
      await expect.poll(() => store.get([later, key]), soon).toEqual([undefined, "2"]);
    });

    it("lets a value end", async () => {
      const store = await create();
      const key = newKey();
      await store.set(key, "1", { ttlMs: 200 });
      expect(await store.get([key])).toEqual(["1"]);
      await expect.poll(() => store.get([key]), soon).toEqual([undefined]);
      expect(await store.set(key, "2", { ifAbsent: true })).toBe(true);
    });

    it("sets an absent key for exactly one of many callers", async () => {
      const store = await create();
      const key = newKey();
      const values = ["a", "b", "c", "d", "e"];
      const options = { ifAbsent: true, ttlMs: 60_000 };
      const answers = await Promise.all(values.map((value) => store.set(key, value, options)));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await store.get([key])).toEqual([values[answers.indexOf(true)]]);
    });

    it("deletes a key, whether it has a value or not", async () => {
      const store = await create();
      const key = newKey();
      await store.set(key, "1");
      await store.delete(key);
      await store.delete(key);
      expect(await store.get([key])).toEqual([undefined]);
    });
  });
}

describeStore("memoryStore", () => memoryStore());

describe("the example of a store of your own", () => {
  const database = new PGlite();
  afterAll(() => database.close());
  describeStore("postgresStore", () => postgresStore(database));

  it.each(["ending", "closed"] as const)("sends no query to a database that is %s", async (state) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const query = vi.fn(() => Promise.resolve({ rows: [] }));
    const closing = { query, ending: false, closed: false };
    await postgresStore(closing);
    query.mockClear();
    vi.advanceTimersByTime(60_000);
    expect(query).toHaveBeenCalledOnce();
    closing[state] = true;
    vi.advanceTimersByTime(180_000);
    expect(query).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("doesn't take a point in time, which an older version took", () => {
  // @ts-expect-error -- the clock of a process must not decide when a store deletes a key
  const options: StoreOptions = { until: new Date() };
  expect(options).toBeDefined();
});

describe("memoryStore", () => {
  it("rejects a new key when it is full, and takes one again at the next second after another has ended", async () => {
    let now = 0;
    const store = memoryStore({ maxEntries: 2, now: () => now });
    await store.set("a", "1", { ttlMs: 1_010 });
    await store.set("b", "1");
    await expect(store.set("c", "1")).rejects.toThrow("is full (2 keys)");
    expect(await store.set("b", "2")).toBe(true);
    now = 1_010;
    expect(await store.get(["a"])).toEqual([undefined]);
    now = 2_000;
    expect(await store.set("c", "1")).toBe(true);
    expect(await store.get(["a", "b", "c"])).toEqual([undefined, "2", "1"]);
  });

  it.each([{ maxEntries: 0 }, { maxEntries: 1.5 }, { maxentries: 5 }, { now: 5 }])(
    "refuses %j",
    (options) => {
      expect(() => memoryStore(options as never)).toThrow(ConfigurationError);
    },
  );
});

describe.skipIf(!REDIS_URL)("redisStore", () => {
  const { prefix: keyPrefix, clients } = useRedisClients();
  describeStore("with ioredis", () => redisStore(clients.ioredis, { keyPrefix }));
  describeStore("with redis", () => redisStore(clients.redis, { keyPrefix }));

  it("begins each key with the prefix, and has a default", async () => {
    const key = newKey();
    await redisStore(clients.redis, { keyPrefix }).set(key, "1");
    expect(await clients.ioredis.get(keyPrefix + key)).toBe("1");
    await redisStore(clients.redis).set(key, "1", { ttlMs: 1_000 });
    expect(await clients.ioredis.get(`scopegate:${key}`)).toBe("1");
  });

  it("needs only the commands GET, SET, DEL and TIME", async () => {
    const [user, password] = [`user-${randomUUID()}`, randomUUID()];
    const rules = ["on", `>${password}`, `~${keyPrefix}*`, "+get", "+set", "+del", "+time"];
    await clients.ioredis.call("ACL", "SETUSER", user, ...rules);
    const { hostname, port } = new URL(REDIS_URL ?? "");
    const options = { host: hostname, port: Number(port), username: user, password };
    const client = new Redis({ ...options, enableReadyCheck: false, socketTimeout: 5_000 });
    try {
      const store = redisStore(client, { keyPrefix });
      const key = newKey();
      expect(await store.set(key, "1", { ttlMs: 1_000, ifAbsent: true })).toBe(true);
      expect(await store.get([key])).toEqual(["1"]);
      await store.delete(key);
      expect(await store.findWarnings?.()).toEqual([]);
      await expect(client.keys("*")).rejects.toThrow("NOPERM");
    } finally {
      client.disconnect();
      await clients.ioredis.call("ACL", "DELUSER", user);
    }
  });

  it("reads the clock of Redis", async () => {
    for (const client of [clients.ioredis, clients.redis]) {
      const time = await redisStore(client, { keyPrefix }).now?.();
      expect(Math.abs((time ?? 0) - Date.now())).toBeLessThan(5_000);
    }
  });

  it("fails with a client that needs callbacks, instead of storing nothing and finding nothing", async () => {
    const store = redisStore(clients.redis.legacy() as never, { keyPrefix });
    clients.redis.on("error", () => undefined);
    expect(await store.get(["a"])).toEqual([
      expect.objectContaining({ message: expect.stringContaining("legacyMode") as string }),
    ]);
    await expect(store.set("a", "1")).rejects.toThrow("legacyMode");
    await expect(new Breaker(store).prove(true)).rejects.toThrow("legacyMode");
  });

  it("keeps the values and the password of a client out of its errors", async () => {
    const client = new Redis("redis://:secret@127.0.0.1:1", { retryStrategy: () => null });
    client.on("error", () => undefined);
    const error = await redisStore(client)
      .set("key", "value")
      .catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: 9 })).not.toMatch(/secret|value/);
    client.disconnect();
  });
});

describe("redisStore, with any client", () => {
  const time = vi.fn((..._values: unknown[]) => Promise.resolve(["1700000000", "500000"]));

  it.each([undefined, null, {}, "redis://127.0.0.1", { get: () => null }])("refuses %j", (client) => {
    expect(() => redisStore(client as never)).toThrow("a client of the package");
  });

  it.each([{ prefix: "a" }, { keyPrefix: 5 }, { confirm: { replicas: 1, timeoutMs: 10 } }])(
    "refuses the options %j",
    (options) => {
      const client = { call: vi.fn(), get: vi.fn() } as unknown as RedisClient;
      expect(() => redisStore(client, options as never)).toThrow(ConfigurationError);
    },
  );

  it("reads the replies of a client that returns buffers", async () => {
    const client = {
      get: (key: string) => Promise.resolve(key === "p:a" ? Buffer.from("1") : null),
      call: () => Promise.resolve(Buffer.from("OK")),
    };
    const store = redisStore(client, { keyPrefix: "p:" });
    expect(await store.get(["a", "b"])).toEqual(["1", undefined]);
    expect(await store.set("a", "1")).toBe(true);
  });

  it("returns the values of nodes that reply, and an error for each key of a node that doesn't", async () => {
    vi.useFakeTimers();
    const client = {
      get: (key: string) => {
        if (key.endsWith("hangs")) return new Promise(() => undefined);
        return key.endsWith("fails") ? Promise.reject(new Error("CLUSTERDOWN")) : Promise.resolve("1");
      },
      call: vi.fn(),
    };
    const reading = redisStore(client).get(["works", "hangs", "fails"]);
    await vi.advanceTimersByTimeAsync(2_000);
    vi.useRealTimers();
    expect(await reading).toEqual([
      "1",
      new Error("Redis: no reply within 2000 ms."),
      new Error("Redis: CLUSTERDOWN"),
    ]);
  });

  it("waits on if no node replies, so that its caller knows that the client is busy", async () => {
    vi.useFakeTimers();
    const state = { isDone: false };
    const get = () => new Promise((resolve) => void setTimeout(() => resolve("1"), 9_000));
    const reading = redisStore({ get, call: vi.fn() }).get(["a"]);
    void reading.then(() => (state.isDone = true));
    await vi.advanceTimersByTimeAsync(8_000);
    expect(state.isDone).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    expect(await reading).toEqual(["1"]);
  });

  it.each<readonly [string, (...values: never[]) => Promise<unknown>, unknown[]]>([
    ["createClient", (command: unknown, _options: unknown) => time(command), [["TIME"]]],
    [
      "createSentinel",
      (isReadOnly: unknown, command: unknown, _options: unknown) => time(isReadOnly, command),
      [false, ["TIME"]],
    ],
    [
      "createCluster",
      (key: unknown, isReadOnly: unknown, command: unknown, _options: unknown) =>
        time(key, isReadOnly, command),
      [undefined, false, ["TIME"]],
    ],
  ])("sends a command without a key as %s takes it", async (_, sendCommand, values) => {
    time.mockClear();
    const store = redisStore({ get: vi.fn(), sendCommand } as never);
    expect(await store.now?.()).toBe(1_700_000_000_500);
    expect(time).toHaveBeenCalledExactlyOnceWith(...values);
  });

  it("reports a rejection that is no error, and settings without a value", async () => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a client may do it
    const client = { get: () => Promise.reject("down"), call: () => Promise.resolve(null) };
    const store = redisStore(client);
    expect(await store.get(["a"])).toEqual([new Error("Redis: the command failed")]);
    expect(await store.findWarnings?.()).toEqual([]);
  });

  const settingsOf = (settings: Record<string, string>, reply: (name: string, value: string) => unknown) => ({
    call: (_command: string, _get: string, name: string) =>
      Promise.resolve(reply(name, settings[name] ?? "")),
    get: vi.fn(),
  });
  const LOSING = { "maxmemory-policy": "allkeys-lru", appendonly: "no", save: "", appendfsync: "everysec" };

  it.each([
    (name: string, value: string) => [name, value],
    (name: string, value: string) => ({ [name]: value }),
    (name: string, value: string) => new Map([[name, value]]),
  ])("warns of settings that lose keys, for each shape of a reply: %s", async (reply) => {
    expect(await redisStore(settingsOf(LOSING, reply) as never).findWarnings?.()).toEqual([
      expect.stringContaining("Set noeviction."),
      expect.stringMatching(/loses all revocations\. Set appendonly yes\./),
    ]);
  });

  it.each<readonly [Record<string, string>, string[]]>([
    [
      { save: "900 1" },
      ["Redis has no append-only file: a restart loses the latest revocations. Set appendonly yes."],
    ],
    [
      { appendonly: "yes" },
      ["Redis has appendfsync everysec: a crash loses the latest revocations. Set appendfsync always."],
    ],
    [{ appendonly: "yes", appendfsync: "always" }, []],
  ])("warns of persistence that loses keys: %j", async (settings, warnings) => {
    const all = { ...LOSING, "maxmemory-policy": "noeviction", ...settings };
    const client = settingsOf(all, (name, value) => [name, value]);
    expect(await redisStore(client as never).findWarnings?.()).toEqual(warnings);
  });

  it.each<readonly [string, object, string | undefined]>([
    ["ioredis", { options: { keepAlive: 30_000 } }, "Set socketTimeout."],
    ["ioredis", { options: { socketTimeout: 5_000 } }, undefined],
    ["ioredis", { options: { redisOptions: {} } }, "Set socketTimeout."],
    ["ioredis", { options: { redisOptions: { socketTimeout: 5_000 } } }, undefined],
    ["redis", { options: { RESP: 3 } }, "Set pingInterval"],
    ["redis", { options: { socket: { socketTimeout: 5_000 } } }, "Set pingInterval"],
    ["redis", { options: { socket: { socketTimeout: 5_000 }, pingInterval: 1_000 } }, undefined],
    ["redis", { options: {} }, undefined],
    ["redis", {}, undefined],
  ])("warns of a client that doesn't notice a dead connection: %s with %j", async (name, client, warning) => {
    const commands =
      name === "redis"
        ? { sendCommand: () => Promise.reject(new Error("NOPERM")) }
        : { call: () => Promise.reject(new Error("NOPERM")) };
    const found = await redisStore({ get: vi.fn(), ...commands, ...client } as never).findWarnings?.();
    expect(found).toEqual(warning === undefined ? [] : [expect.stringContaining(warning)]);
  });
});
