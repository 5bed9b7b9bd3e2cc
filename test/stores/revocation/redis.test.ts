/** Revocations that several processes share through Redis, and what happens when Redis fails. */
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { RevocationStore } from "scopegate/revocation";
import { redisRevocation, type RedisRevocationOptions, type RevocationEvent } from "scopegate/revocation";
import { REDIS_URL } from "../../support/redis.ts";
import { HAS_REDIS_SERVER, type RedisInstance, startRedis } from "../../support/redis-server.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createServer, verdictOf } from "../../support/resource-servers.ts";
import { ConfigurationError } from "../../../src/core/errors.ts";

const issuer = createIssuer();
const CLAIMS = { jti: "t1", sub: "u1", session_id: "s1" };
const soon = { timeout: 5_000, interval: 10 };

const stores: RevocationStore[] = [];
const clients: { disconnect: () => unknown }[] = [];
afterEach(() => {
  for (const store of stores.splice(0)) store.close();
  for (const client of clients.splice(0)) client.disconnect();
});

function connect(url: string): Redis {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => undefined);
  clients.push(client);
  return client;
}

/** Stands for one process: a server with its own client and entries. */
function createProcess(url: string, prefix: string, options: RedisRevocationOptions = {}) {
  const client = connect(url);
  return { client, ...createProcessOf(client, prefix, options) };
}

function createProcessOf(client: RedisClient, prefix: string, options: RedisRevocationOptions = {}) {
  const events: RevocationEvent[] = [];
  const store = redisRevocation(client, {
    prefix,
    pollMs: 10,
    onEvent: (event) => events.push(event),
    ...options,
  });
  stores.push(store);
  const server = createServer({ revocation: store, now: Date.now });
  const types = () => events.map(({ type }) => type);
  return { store, server, events, types, verdict: (token: string) => verdictOf(server, token) };
}

type RedisClient = Parameters<typeof redisRevocation>[0];

/** A client whose commands a test replaces. */
const clientOf = (call: (command: string, ...values: string[]) => Promise<unknown>): RedisClient => ({
  call,
});

const refuseWrite = () => Promise.reject(new Error("READONLY You can't write against a read only replica."));

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
const tokenEntry = (id: string, until = inSeconds(1000)) => JSON.stringify({ kind: "token", id, until });

const newPrefix = () => `scopegate-test:${randomUUID()}:`;
const newToken = (claims: object = {}) => {
  const now = Math.floor(Date.now() / 1000);
  return issuer.token({ ...CLAIMS, iat: now - 10, exp: now + 1000, ...claims });
};

vi.setConfig({ testTimeout: 20_000 });

describe.skipIf(!REDIS_URL)("redisRevocation", () => {
  const url = REDIS_URL ?? "";

  it("rejects a token in every process after it was revoked in one", async () => {
    const prefix = newPrefix();
    const [one, other] = [createProcess(url, prefix), createProcess(url, prefix)];
    await Promise.all([one.server.ready(), other.server.ready()]);
    const token = await newToken();
    expect([await one.verdict(token), await other.verdict(token)]).toEqual(["accepted", "accepted"]);
    await one.server.revoke({ token });
    expect(await one.verdict(token)).toBe("revoked");
    await vi.waitFor(async () => expect(await other.verdict(token)).toBe("revoked"), soon);
    expect(await other.verdict(await newToken({ jti: "t2" }))).toBe("accepted");
  });

  it("works with a client of the package redis, together with one of ioredis", async () => {
    const prefix = newPrefix();
    const client = createClient({ url });
    await client.connect();
    const { store, server, verdict } = createProcessOf(client, prefix);
    await server.ready();
    const other = createProcess(url, prefix);
    await server.revoke({ userId: "u1" });
    await vi.waitFor(async () => expect(await other.verdict(await newToken())).toBe("revoked"), soon);
    await other.server.revoke({ sessionId: "s2" });
    const token = await newToken({ sub: "u2", session_id: "s2" });
    await vi.waitFor(async () => expect(await verdict(token)).toBe("revoked"), soon);
    store.close();
    await client.close();
  });

  it("reads all revocations before it decides the first request of a process", async () => {
    const prefix = newPrefix();
    const first = createProcess(url, prefix);
    await first.server.ready();
    await Promise.all(
      Array.from({ length: 500 }, (_, index) => first.server.revoke({ tokenId: `old-${index}` })),
    );
    await first.server.revoke({ tokenId: "t1" });
    const late = createProcess(url, prefix);
    expect(late.server.health()).toMatchObject({ status: "unavailable", revocation: { entries: 0 } });
    expect(await late.verdict(await newToken())).toBe("revoked");
    expect(late.events).toEqual([{ type: "caught_up", entries: 501 }]);
    expect(late.server.health().revocation).toMatchObject({ state: "ok", entries: 501 });
  });

  it("reads more entries than one command returns", async () => {
    const prefix = newPrefix();
    const client = connect(url);
    const pipeline = client.pipeline();
    for (let index = 0; index < 25_001; index += 1)
      pipeline.xadd(`${prefix}entries`, "*", "e", tokenEntry(`t${index}`));
    await pipeline.exec();
    const { server, store, verdict } = createProcess(url, prefix);
    await server.ready();
    expect(store.status().entries).toBe(25_001);
    expect(await verdict(await newToken({ jti: "t25000" }))).toBe("revoked");
    await client.del(`${prefix}entries`);
  });

  it("writes lost entries to the store again, so that a process that starts knows them", async () => {
    const prefix = newPrefix();
    const [one, other] = [createProcess(url, prefix), createProcess(url, prefix)];
    await Promise.all([one.server.ready(), other.server.ready()]);
    await one.server.revoke({ tokenId: "t1" });
    await one.server.revoke({ userId: "u9" });
    await vi.waitFor(() => expect(other.store.status().entries).toBe(2), soon);
    await one.client.del(`${prefix}entries`);
    await vi.waitFor(() => expect([...one.types(), ...other.types()]).toContain("restored"), soon);
    const late = createProcess(url, prefix);
    await vi.waitFor(async () => expect(await late.verdict(await newToken())).toBe("revoked"), soon);
    expect(await late.verdict(await newToken({ jti: "t3", sub: "u9" }))).toBe("revoked");
    expect([...one.events, ...other.events]).toContainEqual({ type: "lost", entries: 2 });
  });

  it("restores its entries if the store has only others, as after a fail-over", async () => {
    const prefix = newPrefix();
    const one = createProcess(url, prefix);
    await one.server.ready();
    await one.server.revoke({ tokenId: "t1" });
    await vi.waitFor(async () => expect(await one.client.xlen(`${prefix}entries`)).toBe(1), soon);
    const replaced = one.client.multi().del(`${prefix}entries`);
    replaced.xadd(`${prefix}entries`, "*", "e", tokenEntry("t2"));
    await replaced.exec();
    await vi.waitFor(() => expect(one.types()).toContain("restored"), soon);
    expect(await one.verdict(await newToken({ jti: "t2" }))).toBe("revoked");
    expect(await one.client.xlen(`${prefix}entries`)).toBe(2);
  });

  it("compares the store again soon if a comparison fails in the middle", async () => {
    const prefix = newPrefix();
    const client = connect(url);
    let isFailing = true;
    const failing = clientOf((command, ...values) => {
      // The second batch of a read begins behind an entry.
      if (!isFailing || !values[1]?.startsWith("(")) return client.call(command, ...values);
      isFailing = false;
      return Promise.reject(new Error("read ECONNRESET"));
    });
    const { server, types } = createProcessOf(failing, prefix);
    await server.ready();
    await server.revoke({ tokenId: "t1" });
    const replaced = client.multi().del(`${prefix}entries`);
    for (let index = 0; index < 10_001; index += 1)
      replaced.xadd(`${prefix}entries`, "*", "e", tokenEntry(`o${index}`));
    await replaced.exec();
    await vi.waitFor(() => expect(types()).toContain("restored"), soon);
    expect(isFailing).toBe(false);
    await client.del(`${prefix}entries`);
  });

  it("deletes entries that are older than `keepSeconds` from the store", async () => {
    const prefix = newPrefix();
    const client = connect(url);
    const old = Date.now() - 3 * 3_600_000;
    for (let index = 0; index < 300; index += 1)
      await client.xadd(`${prefix}entries`, `${old + index}-0`, "e", tokenEntry("x", 1));
    const { server } = createProcess(url, prefix, { keepSeconds: 3600 });
    await server.ready();
    await server.revoke({ tokenId: "t1" });
    // Redis deletes whole nodes of 100 entries.
    expect(await client.xlen(`${prefix}entries`)).toBeLessThanOrEqual(101);
  });

  it("keeps entries that have not ended, whatever `keepSeconds` and the clock of a process are", async () => {
    const prefix = newPrefix();
    const client = connect(url);
    const until = inSeconds(20 * 86_400);
    const old = Date.now() - 2 * 86_400_000;
    for (let index = 0; index < 250; index += 1)
      await client.xadd(`${prefix}entries`, `${old + index}-0`, "e", tokenEntry(`t${index}`, until));
    const day = createProcess(url, prefix, { keepSeconds: 86_400 });
    const ahead = createProcess(url, prefix, { now: () => Date.now() + 40 * 86_400_000 });
    for (const { server } of [day, ahead]) {
      await server.ready();
      await server.revoke({ tokenId: "other" });
    }
    const late = createProcess(url, prefix);
    expect(await late.verdict(await newToken())).toBe("revoked");
    expect(await client.xlen(`${prefix}entries`)).toBeGreaterThanOrEqual(251);
  });

  it("follows a store that takes no entries", async () => {
    const prefix = newPrefix();
    const client = connect(url);
    const readOnly = clientOf((command, ...values) =>
      ["XADD", "XTRIM", "SET", "DEL"].includes(command) ? refuseWrite() : client.call(command, ...values),
    );
    const { store, server, verdict } = createProcessOf(readOnly, prefix, { staleSeconds: 0.4 });
    await server.ready();
    await expect(server.revoke({ tokenId: "t9" })).rejects.toThrow("did not confirm");
    const other = createProcess(url, prefix);
    await other.server.ready();
    const { readAt } = store.status();
    await vi.waitFor(
      () => expect(Number(store.status().readAt)).toBeGreaterThan(Number(readAt) + 1_000),
      soon,
    );
    expect(await verdict(await newToken({ jti: "t2" }))).toBe("accepted");
    await other.server.revoke({ tokenId: "t1" });
    await vi.waitFor(async () => expect(await verdict(await newToken())).toBe("revoked"), soon);
  });

  it("restores entries with a client that returns buffers", async () => {
    const prefix = newPrefix();
    const client = connect(url);
    const { server } = createProcessOf(
      clientOf((command, ...values) => client.callBuffer(command, ...values)),
      prefix,
    );
    await server.ready();
    await server.revoke({ tokenId: "t1" });
    await client.del(`${prefix}entries`);
    await vi.waitFor(async () => expect(await client.xlen(`${prefix}entries`)).toBe(1), soon);
  });

  it("skips and reports entries that it cannot read", async () => {
    const prefix = newPrefix();
    const client = connect(url);
    const bad = [
      "{",
      "null",
      '{"kind":"colour","id":"a","until":1}',
      '{"kind":"user","id":5,"until":1}',
      '{"kind":"user","id":"u1"}',
    ];
    for (const entry of bad) await client.xadd(`${prefix}entries`, "*", "e", entry);
    await client.xadd(`${prefix}entries`, "*", "e", tokenEntry("t1"));
    const { server, verdict, events } = createProcess(url, prefix);
    await server.ready();
    expect(await verdict(await newToken())).toBe("revoked");
    const [first] = events;
    expect(first?.type === "unreadable" && first.ids).toHaveLength(5);
  });

  it("reports a clock that differs from the clock of Redis", async () => {
    const { server, events } = createProcess(url, newPrefix(), { now: () => Date.now() + 60_000 });
    await server.ready();
    expect(events).toContainEqual({ type: "clock_skew", seconds: 60 });
    const late = createProcess(url, newPrefix(), { now: () => Date.now() - 60_000 });
    await late.server.ready();
    expect(late.events).toContainEqual({ type: "clock_skew", seconds: -60 });
  });

  it("writes a revocation to Redis later if Redis refused it at first", async () => {
    const prefix = newPrefix();
    const client = connect(url);
    let isRefusing = true;
    const readOnly = clientOf((command, ...values) =>
      isRefusing && command === "XADD" ? refuseWrite() : client.call(command, ...values),
    );
    const { server, verdict } = createProcessOf(readOnly, prefix);
    await server.ready();
    await expect(server.revoke({ tokenId: "t1" })).rejects.toThrow("did not confirm");
    expect(await verdict(await newToken())).toBe("revoked");
    expect(await client.xlen(`${prefix}entries`)).toBe(0);
    isRefusing = false;
    await vi.waitFor(async () => expect(await client.xlen(`${prefix}entries`)).toBe(1), soon);
  });

  it("sends no second command while the first one has no answer", () => {
    vi.useFakeTimers();
    try {
      let commands = 0;
      const hanging = { call: () => ((commands += 1), new Promise<unknown>(() => undefined)) };
      const store = redisRevocation(hanging, { pollMs: 10, onEvent: () => undefined });
      stores.push(store);
      vi.advanceTimersByTime(10_000);
      expect(commands).toBe(1);
      expect(store.status().state).toBe("unavailable");
    } finally {
      vi.useRealTimers();
    }
  });

  it("refuses anything but a client, and options that are not valid", () => {
    expect(() => redisRevocation({} as never)).toThrow("a client of the package `redis` or `ioredis`");
    const client = connect(url);
    const wrong: readonly RedisRevocationOptions[] = [
      { staleSeconds: 0 },
      { pollMs: Number.NaN },
      { whenDown: "ignore" as never },
      { maxEntries: 0 },
      { prefix: 5 as never },
      { onEvent: {} as never },
      { keepSecond: 60 } as RedisRevocationOptions,
    ];
    for (const options of wrong) expect(() => redisRevocation(client, options)).toThrow(ConfigurationError);
  });

  it("keeps the token and the user out of its keys and warnings", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const prefix = newPrefix();
    const client = connect(url);
    const store = redisRevocation(client, { prefix, pollMs: 10 });
    stores.push(store);
    const server = createServer({ revocation: store, now: Date.now });
    await server.ready();
    const token = await newToken({ jti: undefined });
    await server.revoke({ token });
    await client.xadd(`${prefix}entries`, "*", "e", "canary");
    await vi.waitFor(() => expect(warn).toHaveBeenCalled(), soon);
    const all = JSON.stringify([await client.xrange(`${prefix}entries`, "-", "+"), warn.mock.calls]);
    for (const part of token.split(".")) expect(all).not.toContain(part);
    expect(warn.mock.calls[0]?.[0]).toContain("cannot be read");
    warn.mockRestore();
  });
});

describe.skipIf(!HAS_REDIS_SERVER)("redisRevocation, when Redis fails", () => {
  let redis: RedisInstance;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.remove());
  afterEach(async () => {
    redis.process().kill("SIGCONT");
    if (redis.process().signalCode) await redis.restart();
  });

  it("reports an outage and its end with a client that waits without an error", async () => {
    const one = createProcess(redis.url, newPrefix());
    await one.server.ready();
    redis.process().kill("SIGSTOP");
    await vi.waitFor(() => expect(one.types()).toEqual(["caught_up", "failed"]), soon);
    expect(one.server.health().revocation).toMatchObject({ state: "degraded" });
    expect(String(one.server.health().revocation?.cause)).toContain("Redis has not answered");
    redis.process().kill("SIGCONT");
    await vi.waitFor(() => expect(one.types()).toEqual(["caught_up", "failed", "caught_up"]), soon);
    expect(one.server.health().revocation).toMatchObject({ state: "ok" });
  });

  it("shows no password and no command of the client in its errors", async () => {
    const client = connect(`redis://nobody:canary-password@127.0.0.1:${redis.port}`);
    const store = redisRevocation(client, { pollMs: 10, staleSeconds: 0.5, onEvent: () => undefined });
    stores.push(store);
    const server = createServer({ revocation: store, now: Date.now });
    const failed = await server.ready().catch((error: unknown) => error);
    const refused = await server.revoke({ userId: "canary-user" }).catch((error: unknown) => error);
    const shown = inspect([failed, refused, server.health()], { depth: 10, showHidden: true });
    expect(shown).toMatch(/WRONGPASS|NOAUTH/);
    expect(shown + JSON.stringify(server.health())).not.toContain("canary");
  });

  it.each(["SIGKILL", "SIGSTOP"] as const)(
    "uses the known revocations after %s of Redis, then answers 503, and recovers",
    async (signal) => {
      const one = createProcess(redis.url, newPrefix(), { staleSeconds: 0.6 });
      await one.server.ready();
      await one.server.revoke({ tokenId: "t1" });
      const [token, other] = [await newToken(), await newToken({ jti: "t2" })];
      expect(await one.verdict(other)).toBe("accepted");
      if (signal === "SIGKILL") await redis.stop(signal);
      else redis.process().kill(signal);
      expect([await one.verdict(token), await one.verdict(other)]).toEqual(["revoked", "accepted"]);
      await vi.waitFor(async () => expect(await one.verdict(other)).toBe("unavailable"), soon);
      await vi.waitFor(() => expect(one.events).toContainEqual({ type: "stale", whenDown: "refuse" }), soon);
      expect(one.server.health().status).toBe("unavailable");
      if (signal === "SIGKILL") await redis.restart();
      else redis.process().kill("SIGCONT");
      await vi.waitFor(async () => expect(await one.verdict(other)).toBe("accepted"), soon);
      expect(await one.verdict(token)).toBe("revoked");
    },
  );

  it('accepts tokens after `staleSeconds` with `whenDown: "accept"`, and reports it', async () => {
    const one = createProcess(redis.url, newPrefix(), { staleSeconds: 0.3, whenDown: "accept" });
    await one.server.ready();
    await one.server.revoke({ tokenId: "t1" });
    await redis.stop();
    await vi.waitFor(() => expect(one.events).toContainEqual({ type: "stale", whenDown: "accept" }), soon);
    expect(await one.verdict(await newToken({ jti: "t2" }))).toBe("accepted");
    expect(await one.verdict(await newToken())).toBe("revoked");
    expect(one.server.health()).toMatchObject({ status: "degraded", revocation: { state: "degraded" } });
  });

  it("answers 503 if Redis was never reached, and `ready` rejects", async () => {
    await redis.stop();
    const one = createProcess(redis.url, newPrefix(), { staleSeconds: 0.3 });
    await expect(one.server.ready()).rejects.toThrow("was not read within 300 ms");
    expect(await one.verdict(await newToken())).toBe("unavailable");
    expect(one.server.health().status).toBe("unavailable");
  });

  it("applies an unconfirmed revocation in its own process, and writes it to Redis later", async () => {
    const prefix = newPrefix();
    const one = createProcess(redis.url, prefix);
    await one.server.ready();
    redis.process().kill("SIGSTOP");
    const revoked = one.server.revoke({ tokenId: "t1" });
    await expect(revoked).rejects.toThrow("did not confirm");
    expect(await one.verdict(await newToken())).toBe("revoked");
    await redis.stop();
    await redis.restart();
    const late = createProcess(redis.url, prefix);
    await vi.waitFor(async () => expect(await late.verdict(await newToken())).toBe("revoked"), soon);
  });

  it("restores an empty Redis from the process that is still running", async () => {
    const prefix = newPrefix();
    const one = createProcess(redis.url, prefix);
    await one.server.ready();
    await one.server.revoke({ sessionId: "s1" });
    await redis.stop();
    await redis.restart();
    await vi.waitFor(() => expect(one.types()).toContain("restored"), soon);
    const late = createProcess(redis.url, prefix);
    expect(await late.verdict(await newToken())).toBe("revoked");
  });

  it("answers 503 while the set is full, because it cannot know further revocations", async () => {
    const prefix = newPrefix();
    const one = createProcess(redis.url, prefix);
    const small = createProcess(redis.url, prefix, { maxEntries: 2, staleSeconds: 0.3 });
    await Promise.all([one.server.ready(), small.server.ready()]);
    for (const tokenId of ["a", "b", "c"]) await one.server.revoke({ tokenId });
    await vi.waitFor(async () => expect(await small.verdict(await newToken())).toBe("unavailable"), soon);
    expect(String(small.server.health().revocation?.cause)).toContain("is full (2 entries)");
  });
});
