/** The background refresh of remote keys, its time limits, and close(). */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { first, second } from "../../support/key-issuer.ts";
import {
  COOLDOWN,
  createFakeIssuer,
  createRemote,
  MAX_AGE,
  REFRESH,
  setOf,
  STALE,
  TIMEOUT,
} from "../../support/remote-keys.ts";
import { type OwnTimers, useOwnTimers } from "../../support/timers.ts";

const jwksUri = "https://issuer.example/jwks";

const { fetch, publish, fail } = createFakeIssuer();
const hang = () => fetch.mockImplementation(() => new Promise(() => undefined));
const signalOf = (call: number) => fetch.mock.calls[call]?.[1].signal;

let timers: OwnTimers;
const owned = (test: () => Promise<void>) => () => timers.run(test);
beforeEach(() => {
  timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] });
  // Timers are not shortened.
  vi.spyOn(Math, "random").mockReturnValue(0);
  fetch.mockReset();
  publish(first);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const wait = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

describe("the background refresh of a remote set", () => {
  it(
    "fetches the set repeatedly at three quarters of maxAgeMs",
    owned(async () => {
      const { server } = createRemote({ jwksUri, fetch });
      await server.ready();
      for (let reading = 1; reading <= 3; reading += 1) {
        await wait(REFRESH - 1);
        expect(fetch).toHaveBeenCalledTimes(reading);
        await wait(1);
        expect(fetch).toHaveBeenCalledTimes(reading + 1);
      }
      expect(timers.count()).toBe(1);
    }),
  );

  it("retries after a delay that doubles up to the cooldown, and returns to the normal interval", async () => {
    fail();
    const { server, types } = createRemote({ jwksUri, fetch });
    await expect(server.ready()).rejects.toThrow("returned status 500");
    for (const [attempt, delay] of [1_000, 2_000, 4_000, 8_000, 16_000, COOLDOWN, COOLDOWN].entries()) {
      await wait(delay - 1);
      expect(fetch).toHaveBeenCalledTimes(attempt + 1);
      await wait(1);
      expect(fetch).toHaveBeenCalledTimes(attempt + 2);
    }
    publish(first);
    await wait(COOLDOWN);
    expect(types().slice(-2)).toEqual(["failed", "fetched"]);
    fail();
    await wait(REFRESH - 1);
    expect(fetch).toHaveBeenCalledTimes(9);
    await wait(1 + 1_000);
    expect(fetch).toHaveBeenCalledTimes(11);
  });

  it.each([
    [0, REFRESH],
    [0.5, REFRESH * 0.9],
    [0.999_999, REFRESH * 0.8 + 1],
  ])(
    "starts up to a fifth earlier at random, so that servers do not fetch together: %d",
    async (random, at) => {
      vi.mocked(Math.random).mockReturnValue(random);
      const { server } = createRemote({ jwksUri, fetch });
      await server.ready();
      await wait(at - 2);
      expect(fetch).toHaveBeenCalledTimes(1);
      await wait(2);
      expect(fetch).toHaveBeenCalledTimes(2);
    },
  );

  it.each([
    ["fails", { cooldownMs: 0 }, fail],
    ["responds", { maxAgeMs: 1 }, () => publish(first)],
  ])("fetches at most once a second with any options while the issuer %s", async (_, timing, answer) => {
    answer();
    const { server } = createRemote({ jwksUri, fetch, ...timing });
    await server.ready().catch(() => undefined);
    await wait(999);
    expect(fetch).toHaveBeenCalledTimes(1);
    await wait(1);
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it(
    "uses one timer that every fetch resets",
    owned(async () => {
      const { server, verdict, pass, whenEmitted } = createRemote({ jwksUri, fetch });
      await server.ready();
      await wait(REFRESH / 2);
      pass(REFRESH);
      await verdict(await first.token());
      await whenEmitted("fetched", 2);
      await wait(0);
      expect(timers.count()).toBe(1);
      await wait(REFRESH - 1);
      expect(fetch).toHaveBeenCalledTimes(2);
    }),
  );
});

describe("a response that takes too long", () => {
  it.each<readonly [string, object, number]>([
    ["five seconds", {}, TIMEOUT],
    ["timeoutMs", { timeoutMs: 300 }, 300],
  ])("fails after %s, even if fetch ignores its signal", async (_, timing, limit) => {
    hang();
    const { server } = createRemote({ jwksUri, fetch, ...timing });
    const failed = vi.fn<(error: Error) => void>();
    void server.ready().catch(failed);
    await wait(limit - 1);
    expect([failed.mock.calls.length, signalOf(0)?.aborted]).toEqual([0, false]);
    await wait(1);
    expect(failed.mock.calls[0]?.[0].message).toContain(`${jwksUri} timed out after ${limit} ms.`);
    expect(signalOf(0)?.aborted).toBe(true);
  });

  it("ignores the late response, which does not block the next attempt", async () => {
    let answer: (response: Response) => void = () => undefined;
    fetch.mockImplementationOnce(() => new Promise((resolve) => (answer = resolve)));
    const { server, verdict, pass, types } = createRemote({ jwksUri, fetch });
    void server.ready().catch(() => undefined);
    await wait(TIMEOUT);
    answer(Response.json(setOf(second)));
    await wait(0);
    expect(await verdict(await second.token())).toBe("unavailable");
    pass(COOLDOWN);
    expect(await verdict(await first.token())).toBe("accepted");
    expect(types()).toEqual(["failed", "fetched"]);
  });

  it("shares one time limit with discovery, after which no request is sent", async () => {
    const issuer = "https://issuer.example";
    const answers: ((response: Response) => void)[] = [];
    fetch.mockImplementation(() => new Promise((resolve) => void answers.push(resolve)));
    const { server } = createRemote({ discovery: true, fetch }, { issuer });
    const failed = vi.fn<(error: Error) => void>();
    void server.ready().catch(failed);
    await wait(TIMEOUT - 1);
    answers[0]?.(new Response(null, { status: 404 }));
    await wait(1);
    expect(fetch).toHaveBeenCalledTimes(2);
    expect(failed).toHaveBeenCalledOnce();
    answers[1]?.(Response.json({ issuer, jwks_uri: jwksUri }));
    await wait(0);
    expect(fetch).toHaveBeenCalledTimes(2);
  });
});

describe("keys that are too old because the process was suspended", () => {
  /** Starts a server, and lets time pass without its timers. Then its issuer responds after a delay. */
  const suspend = async (passed: number, delay: number, options: { readonly staleMs?: number } = {}) => {
    const remote = createRemote({ jwksUri, fetch, ...options });
    await remote.server.ready();
    remote.pass(passed);
    fetch.mockImplementation(async () => {
      await new Promise((resolve) => setTimeout(resolve, delay));
      return Response.json(setOf(second));
    });
    return remote;
  };

  it("are used after 250 ms if their source doesn't respond, until it does", async () => {
    const { verdict, server, whenEmitted } = await suspend(MAX_AGE, 4_000);
    const waiting = verdict(await first.token());
    await wait(250);
    expect(await waiting).toBe("accepted");
    expect(server.health().status).toBe("degraded");
    expect(await verdict(await first.token())).toBe("accepted");
    expect(fetch).toHaveBeenCalledTimes(2);
    await wait(3_750);
    await whenEmitted("stale_ended");
    expect(await verdict(await first.token())).toBe("key");
    expect(server.health().status).toBe("ok");
  });

  it("aren't used if their source responds soon", async () => {
    const { verdict } = await suspend(MAX_AGE, 249);
    const waiting = verdict(await first.token());
    await wait(249);
    expect(await waiting).toBe("key");
  });

  it.each<readonly [string, number, { readonly staleMs?: number }]>([
    ["after staleMs", MAX_AGE + STALE, {}],
    ["with staleMs: 0", MAX_AGE, { staleMs: 0 }],
  ])("aren't used %s: tokens wait for new keys", async (_, passed, options) => {
    const { verdict } = await suspend(passed, 4_000, options);
    const tokens = await Promise.all([first.token(), second.token()]);
    const verdicts = tokens.map(verdict);
    await wait(4_000);
    expect(await Promise.all(verdicts)).toEqual(["key", "accepted"]);
  });
});

describe("close()", () => {
  it(
    "stops the background refresh",
    owned(async () => {
      const { server } = createRemote({ jwksUri, fetch });
      await server.ready();
      await server.close();
      expect(timers.count()).toBe(0);
      await wait(MAX_AGE);
      expect(fetch).toHaveBeenCalledTimes(1);
    }),
  );

  it(
    "aborts a running fetch, rejects its callers, and emits no event",
    owned(async () => {
      fetch.mockImplementation(
        (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new Error("canary")));
          }),
      );
      const { server, verdict, events } = createRemote({ jwksUri, fetch });
      const waiting = verdict(await first.token());
      await wait(0);
      expect(signalOf(0)?.aborted).toBe(false);
      await server.close();
      expect(signalOf(0)?.aborted).toBe(true);
      expect(await waiting).toBe("unavailable");
      expect([timers.count(), events]).toEqual([0, []]);
    }),
  );

  it(
    "keeps the loaded keys usable until maxAgeMs",
    owned(async () => {
      const { server, verdict, pass } = createRemote({ jwksUri, fetch });
      await server.ready();
      await server.close();
      await server.close();
      pass(COOLDOWN);
      expect(await verdict(await second.token())).toBe("unavailable");
      expect(await verdict(await first.token())).toBe("accepted");
      pass(MAX_AGE - COOLDOWN - 1);
      expect(await verdict(await first.token())).toBe("accepted");
      pass(1);
      expect(await verdict(await first.token())).toBe("unavailable");
      expect([fetch.mock.calls.length, timers.count()]).toEqual([1, 0]);
    }),
  );

  it("prevents the first fetch", async () => {
    const { server, verdict, events } = createRemote({ jwksUri, fetch });
    await server.close();
    expect(await verdict(await first.token())).toBe("unavailable");
    await expect(server.ready()).rejects.toThrow("can't be fetched: the resource server is closed.");
    expect([fetch.mock.calls.length, events]).toEqual([0, []]);
  });
});
