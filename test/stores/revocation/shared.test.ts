/** Revocations that several processes share through a store, and what happens when it does not answer. */
import { createHash, randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import {
  type RevocationEvent,
  type Revocations,
  sharedRevocation,
  type SharedRevocationOptions,
} from "scopegate/revocation";
import { memoryStore, redisStore, type Store } from "scopegate/store";
import { REDIS_URL, useRedisClients } from "../../support/redis.ts";
import { createServer, issuer, verdictOf } from "../../support/resource-servers.ts";

const CLAIMS = { jti: "t1", sub: "u1", session_id: "s1", client_id: "c1", iss: "https://login.example/" };
const newToken = (claims: object = {}) => {
  const now = Math.floor(Date.now() / 1000);
  return issuer.token({ ...CLAIMS, iat: now - 10, exp: now + 1000, ...claims });
};

/** A store in memory that a test can let fail, and the keys of each call of `get`. */
function createStore() {
  const memory = memoryStore();
  const state = { mode: "up" as "up" | "down" | "hanging", calls: [] as (readonly string[])[] };
  const answer = async <Value>(run: () => Promise<Value>): Promise<Value> => {
    // Like a client, which sends what waits when its server responds again.
    while (state.mode === "hanging") await new Promise((resolve) => void setTimeout(resolve, 50));
    if (state.mode === "down") throw new Error("out of reach");
    return run();
  };
  const store: Store = {
    get(keys) {
      state.calls.push(keys);
      return answer(() => memory.get(keys));
    },
    set: (key, value, options) => answer(() => memory.set(key, value, options)),
    delete: (key) => answer(() => memory.delete(key)),
    now: () => answer(() => Promise.resolve(Date.now())),
  };
  return { store, memory, state };
}

/** Stands for one process. */
function createProcess(store: Store, options: SharedRevocationOptions = {}) {
  const events: RevocationEvent[] = [];
  const revocation = sharedRevocation(store, { onEvent: (event) => events.push(event), ...options });
  onTestFinished(() => revocation.close());
  const server = createServer({ revocation, now: Date.now });
  const types = () => events.map(({ type }) => type);
  return { server, revocation, events, types, verdict: (token: string) => verdictOf(server, token) };
}

/** One process with a store of its own, and a token. */
async function start(options?: SharedRevocationOptions) {
  const stored = createStore();
  return { ...stored, ...createProcess(stored.store, options), token: await newToken() };
}

/** The clocks that are read, moved by `vi.advanceTimersByTimeAsync`. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("sharedRevocation", () => {
  it("refuses a token in every process within `freshMs` after one has revoked it, and in this one at once", async () => {
    const { store } = createStore();
    const [first, second] = [createProcess(store), createProcess(store)];
    const token = await newToken();
    expect([await first.verdict(token), await second.verdict(token)]).toEqual(["accepted", "accepted"]);
    await first.server.revoke({ userId: "u1" });
    expect(await first.verdict(token)).toBe("revoked");
    await pass(499);
    expect(await second.verdict(token)).toBe("accepted");
    await pass(1);
    expect(await second.verdict(token)).toBe("revoked");
  });

  it("accepts a token in every process within `freshMs` after its revocation was withdrawn", async () => {
    const { store } = createStore();
    const [first, second] = [createProcess(store), createProcess(store)];
    const token = await newToken();
    await first.server.revoke({ token });
    expect([await first.verdict(token), await second.verdict(token)]).toEqual(["revoked", "revoked"]);
    await second.server.unrevoke({ token });
    expect(await second.verdict(token)).toBe("accepted");
    await pass(500);
    expect(await first.verdict(token)).toBe("accepted");
  });

  it("asks for the keys of a principal once per `freshMs`, whatever the number of requests", async () => {
    const { state, verdict, token } = await start();
    await Promise.all(Array.from({ length: 20 }, () => verdict(token)));
    await verdict(token);
    expect(state.calls).toEqual([
      [
        ...["token", "session", "user", "client"].flatMap((kind) => {
          const digest = createHash("sha256").update(CLAIMS.iss).digest("base64url");
          return [`revoked:${kind}:${kind[0]}1`, `revoked:${kind}@${digest}:${kind[0]}1`];
        }),
        `revoked:issuer:${CLAIMS.iss}`,
      ],
    ]);
    await pass(500);
    await verdict(token);
    expect(state.calls).toHaveLength(2);
  });

  it("knows every revocation in a process that starts, without loading any", async () => {
    const { store } = createStore();
    await createProcess(store).server.revoke({ sessionId: "s1" });
    expect(await createProcess(store).verdict(await newToken())).toBe("revoked");
  });

  it("keeps two revocations of one id that are made at once, also the wider of two for one issuer", async () => {
    const { store, server } = await start();
    const before = new Date(0);
    await Promise.all([
      server.revoke({ userId: "u1", issuer: "https://a.example/" }),
      server.revoke({ userId: "u1", issuer: CLAIMS.iss }),
      server.revoke({ userId: "u1", issuer: CLAIMS.iss, before }),
    ]);
    const other = createProcess(store);
    expect(await other.verdict(await newToken())).toBe("revoked");
    expect(await other.verdict(await newToken({ iss: "https://a.example/" }))).toBe("revoked");
    expect(await other.verdict(await newToken({ iss: "https://b.example/" }))).toBe("accepted");
  });

  it("stores a revocation for an hour longer than its tokens are valid, because clocks differ", async () => {
    const { store, memory } = createStore();
    const set = vi.spyOn(memory, "set");
    const until = new Date(Date.now() + 60_000);
    await createProcess(store).server.revoke({ tokenId: "t1" }, { until });
    expect(set.mock.calls[0]?.[2]?.ttlMs).toBeGreaterThanOrEqual(60_000 + 3_600_000);
  });

  it.each(["1", "yes", "[]", "null", "[1]", '[{"until":"x"}]', '[{"until":1e99,"before":"now"}]', "{}"])(
    "takes the value %j, which it did not write, as a revocation of every token with the id",
    async (value) => {
      const { store, memory } = createStore();
      await memory.set("revoked:user:u1", value);
      const { server, verdict } = createProcess(store);
      expect(await verdict(await newToken())).toBe("revoked");
      expect(await verdict(await newToken({ sub: "u2" }))).toBe("accepted");
      // A revocation of its own does not make it weaker.
      await server.revoke({ userId: "u1", issuer: "https://other.example/" });
      expect(await createProcess(store).verdict(await newToken())).toBe("revoked");
    },
  );

  it("shortens long ids, because some stores limit the length of keys", async () => {
    const { state, server, verdict } = await start();
    const sub = "u".repeat(3_000);
    const token = await newToken({ sub });
    await server.revoke({ userId: sub });
    expect(await verdict(token)).toBe("revoked");
    expect(await verdict(await newToken({ sub: `${sub}v` }))).toBe("accepted");
    for (const key of state.calls.flat()) expect(key.length).toBeLessThan(250);
  });

  it("keeps the token and its claims out of the store, and the reason in it", async () => {
    const { store, memory, state } = createStore();
    const set = vi.spyOn(memory, "set");
    const { server, verdict } = createProcess(store);
    const token = await newToken({ jti: undefined });
    await server.revoke({ token }, { reason: "It was in a log." });
    await verdict(token);
    const written = inspect([set.mock.calls, state.calls], { depth: 9 });
    for (const part of token.split(".")) expect(written).not.toContain(part);
    expect(set.mock.calls[0]?.[0]).toMatch(/^revoked:claims@?[\w-]*:[\w-]{43}$/);
    expect(set.mock.calls[0]?.[1]).toContain('"reason":"It was in a log."');
  });

  it.each([
    { freshMs: -1 },
    { freshMs: 60_001 },
    { staleSeconds: 0 },
    { staleSeconds: 4_000 },
    { whenDown: "pass" },
    { keepSeconds: 0 },
    { onEvent: "log" },
    { pollMs: 200 },
    { freshMs: 2_000, staleSeconds: 1 },
  ])("refuses the options %j", (options) => {
    expect(() => sharedRevocation(memoryStore(), options as never)).toThrow(ConfigurationError);
  });

  it.each([undefined, {}, { get: () => [] }])("refuses %j, which is no store", (store) => {
    expect(() => sharedRevocation(store as never)).toThrow("sharedRevocation takes a store");
  });
});

describe("sharedRevocation, without its store", () => {
  it.each(["down", "hanging"] as const)(
    "uses what it asked for within `staleSeconds` while the store is %s, then returns 503, and recovers",
    async (mode) => {
      const { store, state } = createStore();
      const { server, verdict, types, revocation } = createProcess(store, { staleSeconds: 10 });
      const [known, unknown] = [await newToken(), await newToken({ jti: "t2" })];
      await verdict(known);
      state.mode = mode;
      await pass(500);
      const asking = verdict(known);
      await pass(2_500);
      expect(await asking).toBe("accepted");
      expect(await verdict(unknown)).toBe("unavailable");
      expect(server.health()).toMatchObject({ status: "degraded", revocation: { state: "degraded" } });
      await pass(6_900);
      expect(await verdict(known)).toBe("accepted");
      await pass(3_000);
      expect(await verdict(known)).toBe("unavailable");
      expect(server.health()).toMatchObject({ status: "unavailable" });
      expect(types()).toEqual(["failed", "stale"]);
      state.mode = "up";
      await pass(3_000);
      expect(types()).toEqual(["failed", "stale", "recovered"]);
      expect([await verdict(known), await verdict(unknown)]).toEqual(["accepted", "accepted"]);
      expect(revocation.status()).toMatchObject({ state: "ok" });
    },
  );

  it("keeps refusing what it knows to be revoked", async () => {
    const { state, server, verdict, token } = await start({ staleSeconds: 1, whenDown: "accept" });
    await server.revoke({ userId: "u1" });
    expect(await verdict(token)).toBe("revoked");
    state.mode = "down";
    await pass(60_000);
    expect(await verdict(token)).toBe("revoked");
  });

  it("refuses what it has revoked after the last response of the store", async () => {
    const { state, server, verdict, token } = await start();
    expect(await verdict(token)).toBe("accepted");
    await server.revoke({ userId: "u1" });
    state.mode = "down";
    expect(await verdict(token)).toBe("revoked");
  });

  it('accepts tokens with `whenDown: "accept"`, but not before it has reached the store once', async () => {
    const { state, verdict, types, server } = await start({ staleSeconds: 1, whenDown: "accept" });
    state.mode = "down";
    const token = await newToken();
    expect(await verdict(token)).toBe("unavailable");
    expect(server.health().status).toBe("unavailable");
    state.mode = "up";
    await pass(250);
    expect(await verdict(token)).toBe("accepted");
    state.mode = "down";
    await pass(60_000);
    expect(await verdict(await newToken({ jti: "t2" }))).toBe("accepted");
    await pass(60_000);
    expect(await verdict(token)).toBe("accepted");
    expect(server.health().status).toBe("degraded");
    expect(types()).toEqual(["failed", "recovered", "failed", "stale"]);
  });

  it("applies a revocation that the store did not confirm in its own process, and rejects", async () => {
    const { store, state, server, verdict, token } = await start();
    await verdict(token);
    state.mode = "down";
    await expect(server.revoke({ sessionId: "s1" })).rejects.toThrow("didn't confirm");
    expect(await verdict(token)).toBe("revoked");
    state.mode = "up";
    await pass(60_000);
    expect(await verdict(token)).toBe("revoked");
    expect(await createProcess(store).verdict(token)).toBe("accepted");
    await server.revoke({ sessionId: "s1" });
    expect(await createProcess(store).verdict(token)).toBe("revoked");
  });

  it("keeps applying a revocation that the store did not confirm after another one of the same id", async () => {
    const { store, memory } = createStore();
    let writes = 0;
    const set: Store["set"] = (key, value, options) => {
      writes += 1;
      return writes === 2 ? Promise.reject(new Error("full")) : memory.set(key, value, options);
    };
    const { server, verdict } = createProcess({ ...store, set });
    const token = await newToken();
    await verdict(token);
    const revoking = await Promise.allSettled([
      server.revoke({ userId: "u1", issuer: "https://other.example/" }),
      server.revoke({ userId: "u1", issuer: CLAIMS.iss }),
    ]);
    expect(revoking.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await pass(60_000);
    expect(await verdict(token)).toBe("revoked");
  });

  it("stores a revocation together with an earlier one of the same id that the store did not confirm", async () => {
    const { store, state, server } = await start();
    state.mode = "down";
    const wide = server.revoke({ userId: "u1" }).catch(String);
    const narrow = server.revoke({ userId: "u1", before: new Date(0) }).catch(String);
    expect(await Promise.all([wide, narrow])).toEqual([
      expect.stringContaining("didn't confirm"),
      expect.stringContaining("didn't confirm"),
    ]);
    state.mode = "up";
    await pass(1_000);
    await server.revoke({ userId: "u1", before: new Date(0) });
    expect(await createProcess(store).verdict(await newToken())).toBe("revoked");
  });

  it("refuses a token at once while its revocation is being written", async () => {
    const { state, server, verdict, token } = await start();
    await verdict(token);
    state.mode = "hanging";
    const revoking = server.revoke({ userId: "u1" }).catch((error: unknown) => String(error));
    // Until then, the clock of the store is asked.
    await pass(2_500);
    expect(await verdict(token)).toBe("revoked");
    await pass(10_000);
    expect(await revoking).toContain("didn't confirm");
  });

  it("rejects `ready` while it cannot be asked, and reports its warnings afterwards", async () => {
    const { store, state } = createStore();
    const warning = "Redis has no persistence.";
    const { server } = createProcess({ ...store, findWarnings: () => Promise.resolve([warning]) });
    state.mode = "down";
    await expect(server.ready()).rejects.toThrow("out of reach");
    state.mode = "up";
    await pass(250);
    await server.ready();
    expect(server.health().revocation).toMatchObject({ state: "ok", warnings: [warning] });
  });

  it("leaves no timer when it is closed", async () => {
    const { state, server, verdict } = await start();
    state.mode = "down";
    await verdict(await newToken());
    await server.close();
    // Others may still use the store.
    await pass(61_000);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("sharedRevocation, with answers that are remembered by store key", () => {
  /** Without a token cache, every request has another principal. */
  function createWithoutCache(store: Store, options: SharedRevocationOptions = {}) {
    const revocation = sharedRevocation(store, { onEvent: () => undefined, ...options });
    onTestFinished(() => revocation.close());
    const server = createServer({ revocation, now: Date.now, tokenCache: false });
    return (token: string) => verdictOf(server, token);
  }

  /** A store whose keys with this part are on a node that can be dead. */
  function createNodes(part: string) {
    const { store, memory } = createStore();
    const node = { isDead: false };
    const get: Store["get"] = async (keys) => {
      const values = await memory.get(keys);
      return values.map((value, index) =>
        node.isDead && keys[index]?.includes(part) ? new Error("no connection") : value,
      );
    };
    return { store: { ...store, get }, node };
  }

  it("asks once per `freshMs`, also without a token cache", async () => {
    const { store, state } = createStore();
    const verdict = createWithoutCache(store);
    const token = await newToken();
    for (let request = 0; request < 5; request += 1) await verdict(token);
    expect(state.calls).toHaveLength(1);
    await pass(500);
    await verdict(token);
    expect(state.calls).toHaveLength(2);
  });

  it("accepts known callers for `staleSeconds` of an outage with all defaults, also without a token cache", async () => {
    const { store, state } = createStore();
    const verdict = createWithoutCache(store);
    const [token, revoked] = [await newToken(), await newToken({ jti: "t2" })];
    await createProcess(store).server.revoke({ tokenId: "t2" });
    expect([await verdict(token), await verdict(revoked)]).toEqual(["accepted", "revoked"]);
    state.mode = "down";
    for (let second = 0; second < 29; second += 1) {
      await pass(1_000);
      expect([await verdict(token), await verdict(revoked)]).toEqual(["accepted", "revoked"]);
    }
    await pass(1_001);
    expect(await verdict(token)).toBe("unavailable");
    expect(await verdict(await newToken({ jti: "t3" }))).toBe("unavailable");
  });

  it("returns 503 only to callers with a key of a dead node, after `staleSeconds`", async () => {
    const { store, node } = createNodes("dead");
    const { verdict, server } = createProcess(store, { staleSeconds: 10 });
    const [concerned, other] = [await newToken({ sub: "dead" }), await newToken({ sub: "u2" })];
    expect([await verdict(concerned), await verdict(other)]).toEqual(["accepted", "accepted"]);
    node.isDead = true;
    await pass(9_000);
    expect([await verdict(concerned), await verdict(other)]).toEqual(["accepted", "accepted"]);
    expect(server.health()).toMatchObject({ status: "degraded" });
    await pass(2_000);
    expect([await verdict(concerned), await verdict(other)]).toEqual(["unavailable", "accepted"]);
    // What is known for sure is refused for good.
    await createProcess(store).server.revoke({ sessionId: "s1" });
    await pass(500);
    expect(await verdict(concerned)).toBe("revoked");
    node.isDead = false;
    await createProcess(store).server.unrevoke({ sessionId: "s1" });
    await pass(1_000);
    expect(await verdict(concerned)).toBe("accepted");
  });

  it("is unavailable in `health` when every caller has a key that fails", async () => {
    const { store, node } = createNodes("revoked:issuer");
    const { verdict, server } = createProcess(store, { staleSeconds: 10 });
    const token = await newToken();
    await verdict(token);
    node.isDead = true;
    await pass(11_000);
    expect(await verdict(token)).toBe("unavailable");
    expect(server.health()).toMatchObject({ status: "unavailable" });
  });
});

describe("sharedRevocation, with several processes that revoke", () => {
  /** A store whose every call takes a turn of the event loop, for processes with breakers of their own. */
  function createSlow() {
    const { memory } = createStore();
    const later = async <Value>(run: () => Promise<Value>): Promise<Value> => {
      await new Promise<void>((resolve) => void setImmediate(resolve));
      return run();
    };
    const connect = (): Store => ({
      get: (keys) => later(() => memory.get(keys)),
      set: (...values) => later(() => memory.set(...values)),
      delete: (key) => later(() => memory.delete(key)),
      now: () => later(() => Promise.resolve(Date.now())),
    });
    return { connect };
  }

  it("loses none of 40 revocations of one user that are made at once, nor shortens any", async () => {
    vi.useRealTimers();
    const { connect } = createSlow();
    const servers = Array.from({ length: 4 }, () => createProcess(connect()).server);
    const now = Date.now();
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        // The widest in each way is made by another process, somewhere in between.
        const before = new Date(index === 13 ? now : now - 60_000 - index * 1_000);
        const until = new Date(now + (index === 22 ? 3_600_000 : 60_000));
        await servers[index % 4]?.revoke({ userId: "u1", before }, { until });
      }),
    );
    const token = await newToken({ iat: Math.floor(now / 1000) - 1 });
    expect(await createProcess(connect()).verdict(token)).toBe("revoked");
    const later = createProcess(connect(), { now: () => Date.now() + 3_000_000 });
    const server = createServer({ revocation: later.revocation, now: () => Date.now() + 3_000_000 });
    const long = await newToken({ iat: Math.floor(now / 1000) - 100, exp: Math.floor(now / 1000) + 7_200 });
    expect(await verdictOf(server, long)).toBe("revoked");
  });

  it("ends what the store has not confirmed here, when another process withdraws it", async () => {
    const { store, state } = createStore();
    const [first, second] = [createProcess(store), createProcess({ ...store })];
    const token = await newToken();
    await first.verdict(token);
    state.mode = "down";
    await expect(first.server.revoke({ userId: "u1" })).rejects.toThrow("didn't confirm");
    state.mode = "up";
    await pass(1_000);
    expect(await first.verdict(token)).toBe("revoked");
    expect(await second.server.unrevoke({ userId: "u1" })).toBe(false);
    // The store is asked in the background.
    await pass(500);
    expect(await first.verdict(token)).toBe("revoked");
    await new Promise<void>((resolve) => void setImmediate(() => setImmediate(resolve)));
    expect(await first.verdict(token)).toBe("accepted");
    // An earlier withdrawal doesn't end a later revocation.
    state.mode = "down";
    await pass(500);
    await expect(first.server.revoke({ userId: "u1" })).rejects.toThrow("didn't confirm");
    state.mode = "up";
    await pass(1_000);
    expect(await first.verdict(token)).toBe("revoked");
  });
});

describe("sharedRevocation, with clocks that differ", () => {
  it.each([-10, -1_200, 1_200])(
    "revokes what was issued before, and not what is issued after it, by a process whose clock is %i s off",
    async (offSeconds) => {
      const { store } = createStore();
      const now = () => Date.now() + offSeconds * 1_000;
      const revoker = createServer({
        revocation: sharedRevocation({ ...store }, { now, onEvent: () => undefined }),
        now,
      });
      const { verdict } = createProcess(store, { freshMs: 0 });
      const issuedAt = Math.floor(Date.now() / 1000);
      const old = await newToken({ iat: issuedAt - 2 });
      await revoker.revoke({ userId: "u1" });
      expect(await verdict(old)).toBe("revoked");
      await pass(1_000);
      // The user has logged in again.
      expect(await verdict(await newToken({ iat: issuedAt + 1, jti: "t2" }))).toBe("accepted");
      expect(await verdict(old)).toBe("revoked");
    },
  );

  it("keeps a revocation as long as its tokens are valid, by the clock of the store", async () => {
    const { store, memory } = createStore();
    const set = vi.spyOn(memory, "set");
    const now = () => Date.now() + 1_200_000;
    const revocation = sharedRevocation(store, { now, onEvent: () => undefined });
    // By the clock of the process, this time has passed.
    const until = new Date(Date.now() + 600_000);
    await createServer({ revocation, now }).revoke({ userId: "u1" }, { until });
    expect(set.mock.calls[0]?.[2]?.ttlMs).toBeGreaterThanOrEqual(600_000 + 3_600_000);
  });

  it("warns that the clock of the process decides, if the store has none", async () => {
    const { store } = createStore();
    const withoutClock: Store = { ...store, now: undefined as never };
    const { server, events } = createProcess(withoutClock);
    await server.ready();
    expect(events).toEqual([{ type: "warning", message: expect.stringContaining("no `now`") as string }]);
    expect(server.health()).toMatchObject({ status: "ok" });
  });

  it("rejects `revoke` if the clock of the store can't be read, and refuses in its own process", async () => {
    const { store } = createStore();
    const failing = { ...store, now: () => Promise.reject(new Error("NOPERM time")) };
    const { server, verdict } = createProcess(failing);
    const token = await newToken();
    await expect(server.revoke({ userId: "u1" })).rejects.toMatchObject({
      cause: { message: "NOPERM time" },
    });
    await expect(server.unrevoke({ userId: "u1" })).rejects.toThrow("didn't confirm");
    expect(await verdict(token)).toBe("revoked");
    await expect(server.ready()).rejects.toThrow("NOPERM time");
  });
});

describe("server.ready, with a shared store", () => {
  it("writes a probe, or with `readOnly` only reads", async () => {
    const { store } = createStore();
    const set = vi.fn<Store["set"]>((...values) => store.set(...values));
    const { server } = createProcess({ ...store, set });
    await server.ready({ readOnly: true });
    expect(set).not.toHaveBeenCalled();
    await server.ready();
    expect(set).toHaveBeenCalled();
  });

  it("reports an outage that began before it was created", async () => {
    const { store, state } = createStore();
    const first = createProcess(store);
    state.mode = "down";
    await first.verdict(await newToken());
    const second = createProcess(store);
    state.mode = "up";
    await pass(250);
    expect(first.types()).toEqual(["failed", "recovered"]);
    expect(second.types()).toEqual(["failed", "recovered"]);
  });

  it("reports each warning once, and again after each recovery", async () => {
    const { store, state } = createStore();
    const findWarnings = () => Promise.resolve(["Set noeviction."]);
    const { server, types, verdict } = createProcess({ ...store, findWarnings });
    await server.ready();
    await server.ready();
    expect(types()).toEqual(["warning"]);
    const token = await newToken();
    state.mode = "down";
    await verdict(token);
    state.mode = "up";
    await pass(250);
    expect(types()).toEqual(["warning", "failed", "recovered", "warning"]);
  });
});

describe.skipIf(!REDIS_URL)("sharedRevocation in Redis", () => {
  const { prefix, clients } = useRedisClients();
  const connect = (client: "ioredis" | "redis", keyPrefix: string): Revocations =>
    sharedRevocation(redisStore(clients[client], { keyPrefix }), { freshMs: 0 });

  it("works with clients of both packages together", async () => {
    vi.useRealTimers();
    const keyPrefix = `${prefix}${randomUUID()}:`;
    const servers = (["ioredis", "redis"] as const).map((client) =>
      createServer({ revocation: connect(client, keyPrefix), now: Date.now }),
    );
    const token = await newToken();
    for (const server of servers) {
      for (const other of servers) expect(await verdictOf(other, token)).toBe("accepted");
      await server.revoke({ userId: "u1" });
      for (const other of servers) expect(await verdictOf(other, token)).toBe("revoked");
      expect(await server.unrevoke({ userId: "u1" })).toBe(true);
    }
  });
});
