import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { on } from "node:events";
import type { Principal } from "scopegate";
import { type AccessEnd, untilExpiry } from "scopegate/connections";
import { revalidate } from "scopegate/connections";
import { createServer, issuer, NOW } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { type OwnTimers, useOwnTimers } from "../../support/timers.ts";
import { until } from "../../support/until.ts";

let now = NOW * 1000;
let timers: OwnTimers;
beforeEach(() => {
  now = NOW * 1000;
  timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => void vi.useRealTimers());

const serverWith = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({ now: () => now, scopeMappings: { "GET /events": ["events:read"] }, ...options });

/** Lets the time of the server and of the timers pass together. */
async function pass(seconds: number): Promise<void> {
  now += seconds * 1000;
  await vi.advanceTimersByTimeAsync(seconds * 1000);
}

const principalWith = (
  claims: Readonly<Record<string, unknown>>,
  server = serverWith(),
): Promise<Principal> =>
  issuer.token({ scopes: ["events:read"], ...claims }).then((token) => server.authenticate(token));

describe("server.revalidate", () => {
  it("reports how long the token is valid, by the clock of the server", async () => {
    const server = serverWith();
    const principal = await principalWith({ exp: NOW + 60 });
    expect(await revalidate(server, principal)).toEqual({ valid: true, expiresInMs: 60_000 });
    now += 59_999;
    expect(await revalidate(server, principal)).toEqual({ valid: true, expiresInMs: 1 });
    now += 1;
    expect(await revalidate(server, principal)).toEqual({ valid: false, reason: "expired" });
  });

  it("allows the clock tolerance, and ends a token at its maximum age", async () => {
    const server = serverWith({ clockToleranceSeconds: 5, maxTokenAgeSeconds: 30 });
    const old = await principalWith({ iat: NOW, exp: NOW + 60 });
    expect(await revalidate(server, old)).toEqual({ valid: true, expiresInMs: 35_000 });
    now += 35_000;
    expect(await revalidate(server, old)).toEqual({ valid: false, reason: "expired" });
  });

  it.each<[string, NonNullable<ResourceServerOptions["isRevoked"]>, object]>([
    ["false", () => false, { valid: true, expiresInMs: Infinity }],
    ["true", () => Promise.resolve(true), { valid: false, reason: "revoked" }],
    ["nothing", () => undefined as never, { valid: false, reason: "unavailable" }],
    ["a failure", () => Promise.reject(new Error("down")), { valid: false, reason: "unavailable" }],
  ])("calls isRevoked, which returns %s", async (_, isRevoked, result) => {
    const principal = await principalWith({});
    expect(await revalidate(serverWith({ isRevoked }), principal)).toEqual(result);
  });

  it("calls isRevoked with the principal, but not for an expired token", async () => {
    const isRevoked = vi.fn(() => true);
    const server = serverWith({ isRevoked });
    const principal = await principalWith({ exp: NOW + 60 });
    expect(await revalidate(server, principal)).toEqual({ valid: false, reason: "revoked" });
    expect(isRevoked.mock.calls).toEqual([[principal]]);
    now += 60_000;
    expect(await revalidate(server, principal)).toEqual({ valid: false, reason: "expired" });
    expect(isRevoked).toHaveBeenCalledTimes(1);
  });

  it("accepts a principal of any issuer if the server has one issuer without a name", async () => {
    const principal = await principalWith({ iss: "https://a.example" });
    expect(await revalidate(serverWith(), principal)).toMatchObject({ valid: true });
  });

  it("reads the clock again after a slow isRevoked", async () => {
    const isRevoked = () => {
      now += 60_000;
      return Promise.resolve(false);
    };
    const principal = await principalWith({ exp: NOW + 60 });
    expect(await revalidate(serverWith({ isRevoked }), principal)).toEqual({
      valid: false,
      reason: "expired",
    });
  });

  it("uses the settings of the issuer, and rejects a principal of an unknown one", async () => {
    const verificationKeys = [issuer.publicPem];
    const server = serverWith({
      issuers: [
        { issuer: "https://a.example", verificationKeys, algorithms: ["RS256"], clockToleranceSeconds: 10 },
        { issuer: "https://b.example", verificationKeys, algorithms: ["RS256"] },
      ],
    });
    const make = (iss: string) => principalWith({ iss, exp: NOW + 60 });
    expect(await revalidate(server, await make("https://a.example"))).toMatchObject({ expiresInMs: 70_000 });
    expect(await revalidate(server, await make("https://b.example"))).toMatchObject({ expiresInMs: 60_000 });
    await expect(revalidate(server, await make("https://c.example"))).rejects.toThrow("this server accepts");
  });
});

// `docs/guides/sockets.md` has a stream of server-sent events that ends with its token, and a test runs it.

describe("untilExpiry", () => {
  const start = async (
    claims: Readonly<Record<string, unknown>>,
    options: Partial<ResourceServerOptions> | undefined,
    settings: { checkEverySeconds?: number; signal?: AbortSignal } = {},
  ) => {
    const ends: AccessEnd[] = [];
    const principal = await principalWith(claims);
    const server = options && serverWith(options);
    const onEnd = (end: AccessEnd) => ends.push(end);
    const stop = timers.run(() => untilExpiry(principal, { onEnd, server, ...settings }));
    await vi.advanceTimersByTimeAsync(0);
    return { ends, stop };
  };

  it("calls onEnd once when the token expires, with a close code and an event", async () => {
    const { ends } = await start({ exp: NOW + 45 }, {});
    await pass(44);
    expect(ends).toEqual([]);
    await pass(1);
    expect(ends).toEqual([
      {
        reason: "expired",
        closeCode: 4401,
        event: 'event: access_ended\ndata: {"reason":"expired","status":401}\n\n',
      },
    ]);
    await pass(1_000);
    expect(ends.length).toBe(1);
    expect(timers.count()).toBe(0);
  });

  it("ends on time while isRevoked hangs", async () => {
    const isRevoked = vi.fn((): boolean | Promise<boolean> => false);
    const { ends } = await start({ exp: NOW + 62 }, { isRevoked });
    isRevoked.mockReturnValue(new Promise<boolean>(() => undefined));
    await pass(60);
    expect(isRevoked).toHaveBeenCalledTimes(2);
    await pass(1);
    expect(ends).toEqual([]);
    await pass(1);
    expect(ends).toMatchObject([{ reason: "expired", closeCode: 4401 }]);
  });

  it("calls isRevoked every 60 seconds, or every `checkEverySeconds`", async () => {
    const isRevoked = vi.fn(() => false);
    const { ends } = await start({}, { isRevoked });
    await pass(59);
    expect(isRevoked).toHaveBeenCalledTimes(1);
    await pass(1);
    expect(isRevoked).toHaveBeenCalledTimes(2);
    isRevoked.mockReturnValue(true);
    await pass(60);
    expect(ends).toMatchObject([{ reason: "revoked", closeCode: 4401 }]);
    const often = await start({}, { isRevoked: () => now > NOW * 1000 + 120_000 }, { checkEverySeconds: 5 });
    await pass(5);
    expect(often.ends).toMatchObject([{ reason: "revoked" }]);
  });

  it("ends at once if the token has expired already", async () => {
    const principal = await principalWith({ exp: NOW + 1 });
    now += 1_000;
    const onEnd = vi.fn();
    untilExpiry(principal, { onEnd, server: serverWith() });
    expect(onEnd).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(0);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  it("ends with 4503 if isRevoked fails, and if the server fails", async () => {
    const failing = await start({}, { isRevoked: () => Promise.reject(new Error("down")) });
    expect(failing.ends).toMatchObject([{ reason: "unavailable", closeCode: 4503 }]);
    const faulty = await start({}, { now: () => Number.NaN });
    expect(faulty.ends).toMatchObject([{ reason: "unavailable" }]);
  });

  it("uses only exp and the clock of the system without a server", async () => {
    timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: NOW * 1000 });
    const { ends } = await start({ exp: NOW + 45 }, undefined, { checkEverySeconds: 5 });
    expect(timers.count()).toBe(1);
    await pass(44);
    expect(ends).toEqual([]);
    await pass(1);
    expect(ends).toMatchObject([{ reason: "expired" }]);
  });

  it("waits longer than a timer can, and forever for a token without exp", async () => {
    timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: NOW * 1000 });
    const days = 24 * 3600;
    const { ends } = await start({ exp: NOW + 60 * days }, undefined);
    const endless = await start({}, undefined);
    await pass(59 * days);
    expect(ends).toEqual([]);
    await pass(days);
    expect(ends.length).toBe(1);
    await pass(1_000 * days);
    expect(endless.ends).toEqual([]);
    endless.stop();
    expect(timers.count()).toBe(0);
  });

  it("stops when its function is called, also during a check", async () => {
    let answer!: (isRevoked: boolean) => void;
    const isRevoked = () => new Promise<boolean>((resolve) => (answer = resolve));
    const asked = await start({}, { isRevoked });
    asked.stop();
    answer(true);
    const waiting = await start({ exp: NOW + 60 }, {});
    waiting.stop();
    await pass(60);
    expect([...asked.ends, ...waiting.ends]).toEqual([]);
    expect(timers.count()).toBe(0);
  });

  it("stops when its signal aborts, and leaves no listener on it", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const removed = vi.spyOn(signal, "removeEventListener");
    const ended = await start({ exp: NOW + 1 }, {}, { signal });
    const watched = await start({ exp: NOW + 60 }, {}, { signal });
    await pass(1);
    expect(ended.ends.length).toBe(1);
    expect(removed).toHaveBeenCalledTimes(1);
    controller.abort();
    const late = await start({ exp: NOW + 60 }, {}, { signal });
    expect(timers.count()).toBe(0);
    await pass(60);
    expect([...watched.ends, ...late.ends]).toEqual([]);
  });

  it("does not keep the process alive", async () => {
    vi.useRealTimers();
    const timers = vi.spyOn(globalThis, "setTimeout");
    const stop = untilExpiry(await principalWith({ exp: NOW + 60 }), {
      onEnd: () => undefined,
      server: serverWith(),
    });
    await until(() => timers.mock.results.length > 0);
    const set = timers.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect(set.filter((timer) => timer.hasRef() && timer.constructor.name === "Timeout")).toEqual([]);
    stop();
    timers.mockRestore();
  });

  it("reports a broken onEnd in a process warning", async () => {
    const warnings = on(process, "warning") as AsyncIterable<[Error]>;
    const onEnd = () => {
      throw new Error("broken");
    };
    untilExpiry(await principalWith({ exp: NOW }, serverWith({ clockToleranceSeconds: 1 })), {
      onEnd,
      server: serverWith(),
    });
    // A server of an earlier test may warn about its keys meanwhile.
    for await (const [{ message }] of warnings) if (message.includes("A hook failed")) return;
  });

  it("throws without a principal or onEnd, and for every other wrong option", async () => {
    const principal = await principalWith({});
    expect(() => untilExpiry(undefined as never, { onEnd: () => undefined })).toThrow("needs a principal");
    expect(() => untilExpiry(principal, {} as never)).toThrow("untilExpiry.onEnd: is missing.");
    for (const checkEverySeconds of [0, -1, Number.NaN])
      expect(() => untilExpiry(principal, { onEnd: () => 0, checkEverySeconds })).toThrow(
        "untilExpiry.checkEverySeconds: has an invalid value. Write a number of seconds greater than 0.",
      );
    for (const [name, value] of Object.entries({ server: {}, signal: {}, onExpiry: () => 0 }))
      expect(() => untilExpiry(principal, { onEnd: () => 0, [name]: value })).toThrow(
        `untilExpiry.${name}: `,
      );
  });
});
