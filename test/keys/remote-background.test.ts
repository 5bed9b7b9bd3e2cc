/** What remote keys do while nobody asks, within which time they do it, and how that ends. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type KeyFetch } from "scopegate";
import { createIssuer } from "../support/issuer.ts";
import {
  COOLDOWN,
  createRemote,
  MAX_AGE,
  REFRESH,
  setOf,
  type Signers,
  TIMEOUT,
} from "../support/remote-keys.ts";

const first = createIssuer({ kid: "first" });
const second = createIssuer({ kid: "second" });
const jwksUri = "https://issuer.example/jwks";

const fetch = vi.fn<KeyFetch>();
const publish = (...keys: Signers) =>
  fetch.mockImplementation(() => Promise.resolve(Response.json(setOf(...keys))));
const fail = () => fetch.mockImplementation(() => Promise.reject(new TypeError("fetch failed")));
const hang = () => fetch.mockImplementation(() => new Promise(() => undefined));
const signalOf = (call: number) => fetch.mock.calls[call]?.[1].signal;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  fetch.mockReset();
  publish(first);
});
afterEach(() => void vi.useRealTimers());

const wait = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

describe("in the background a remote set", () => {
  it("is read again at three quarters of maxAgeMs, again and again", async () => {
    const { server } = createRemote({ jwksUri, fetch });
    await server.ready();
    for (let reading = 1; reading <= 3; reading += 1) {
      await wait(REFRESH - 1);
      expect(fetch).toHaveBeenCalledTimes(reading);
      await wait(1);
      expect(fetch).toHaveBeenCalledTimes(reading + 1);
    }
    expect(vi.getTimerCount()).toBe(1);
  });

  it("is tried again after each cooldown while its issuer is down, and lets go when it is back", async () => {
    fail();
    const { server, types } = createRemote({ jwksUri, fetch });
    await expect(server.ready()).rejects.toThrow("cannot be fetched");
    await wait(COOLDOWN - 1);
    expect(fetch).toHaveBeenCalledTimes(1);
    await wait(1 + COOLDOWN);
    expect(fetch).toHaveBeenCalledTimes(3);
    publish(first);
    await wait(COOLDOWN);
    expect(types()).toEqual(["failed", "failed", "failed", "fetched"]);
    await wait(REFRESH - 1);
    expect(fetch).toHaveBeenCalledTimes(4);
  });

  it.each([
    ["fails", { cooldownMs: 0 }, fail],
    ["answers", { maxAgeMs: 1 }, () => publish(first)],
  ])(
    "is read once a second at most, whatever the options, where its issuer %s",
    async (_, timing, answer) => {
      answer();
      const { server } = createRemote({ jwksUri, fetch, ...timing });
      await server.ready().catch(() => undefined);
      await wait(999);
      expect(fetch).toHaveBeenCalledTimes(1);
      await wait(1);
      expect(fetch).toHaveBeenCalledTimes(2);
    },
  );

  it("has one timer, set anew by every reading", async () => {
    const { server, verdict, pass, whenTold } = createRemote({ jwksUri, fetch });
    await server.ready();
    await wait(REFRESH / 2);
    pass(REFRESH);
    await verdict(await first.token());
    await whenTold("fetched", 2);
    await wait(0);
    expect(vi.getTimerCount()).toBe(1);
    await wait(REFRESH - 1);
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it("keeps no process alive: none of its timers does", async () => {
    const setTimer = vi.spyOn(globalThis, "setTimeout");
    const { server } = createRemote({ jwksUri, fetch });
    await server.ready();
    const timers = setTimer.mock.results.map(({ value }) => value as NodeJS.Timeout);
    setTimer.mockRestore();
    expect(timers.map((timer) => timer.hasRef())).toEqual([false, false]);
  });
});

describe("an answer that does not come in time", () => {
  it.each<readonly [string, object, number]>([
    ["five seconds", {}, TIMEOUT],
    ["timeoutMs", { timeoutMs: 300 }, 300],
  ])("is a failure after %s, even of a fetch that does not heed its signal", async (_, timing, limit) => {
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

  it("is not taken when it comes after all, and stops no later attempt", async () => {
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

  it("keeps to one limit with the metadata that leads to it, after which nothing more is asked", async () => {
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

describe("close()", () => {
  it("ends the background work: no timer is left, and nothing is asked any more", async () => {
    const { server } = createRemote({ jwksUri, fetch });
    await server.ready();
    await server.close();
    expect(vi.getTimerCount()).toBe(0);
    await wait(MAX_AGE);
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it("ends a flight: its signal is aborted, who waits is told, and it is no event", async () => {
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
    expect([vi.getTimerCount(), events]).toEqual([0, []]);
  });

  it("leaves the keys that are there to the requests that are there, until they are old", async () => {
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
    expect([fetch.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  it("before anything was asked lets nothing be asked", async () => {
    const { server, verdict, events } = createRemote({ jwksUri, fetch });
    await server.close();
    expect(await verdict(await first.token())).toBe("unavailable");
    await expect(server.ready()).rejects.toThrow("cannot be fetched: the resource server is closed.");
    expect([fetch.mock.calls.length, events]).toEqual([0, []]);
  });
});
