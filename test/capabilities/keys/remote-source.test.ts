/** When a remote JWK Set is requested, and how long its keys are used: scripts of (time, event, expected). */
import { webcrypto } from "node:crypto";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { first, second } from "../../support/key-issuer.ts";
import {
  COOLDOWN,
  createFakeIssuer,
  createRemote,
  MAX_AGE,
  REFRESH,
  RETRY,
  STALE,
  TIMEOUT,
} from "../../support/remote-keys.ts";
import { NOW } from "../../support/resource-servers.ts";
import { itPlays, SET_URL as jwksUri, type Step } from "./script.ts";

const issuer = "https://issuer.example/tenant";
const END = MAX_AGE + STALE;

const uncached = { options: { tokenCache: false } } as const;

/** The key of `first` is loaded, by a token or by `ready()`. */
const LOADED: Step = [0, "first", "request fetched accepted"];
const READY: Step = [0, "ready", "request fetched ready"];

describe("a remote set", () => {
  itPlays("is requested with the first token that needs a key, once for concurrent tokens and ready()", [
    [0, "show state", "not loaded []"],
    [0, "elliptic as first", "algorithm"],
    [0, "hold", ""],
    [0, "50 first", "request"],
    [0, "ready", ""],
    [0, "2 second", ""],
    [0, "respond", "fetched accepted key ready"],
    [0, "ready", "ready"],
    [0, "show state", "fresh [first]"],
  ]);

  itPlays("causes unavailable keys after a first failure, and is requested a second after its end", [
    [0, "status 500", ""],
    [0, "hold", ""],
    [0, "first", "request"],
    [RETRY, "respond", "failed unavailable"],
    [RETRY, "show state", "unavailable []"],
    [RETRY, "publish first", ""],
    [2 * RETRY - 1, "first", "unavailable"],
    [2 * RETRY - 1, "unknown", "unavailable"],
    [2 * RETRY - 1, "first without kid", "unavailable"],
    [2 * RETRY, "first", "request fetched accepted"],
  ]);

  const failing = { keys: { cooldownMs: 3_500 } };
  itPlays("shows in Retry-After when it is requested again: in 1 second to cooldownMs", failing, [
    [0, "status 500", ""],
    [0, "show Retry-After", "request failed 1"],
    [999, "show Retry-After", "1"],
    [1_000, "show Retry-After", "request failed 2"],
    [1_500, "show Retry-After", "2"],
    [3_000, "show Retry-After", "request failed 4"],
    [3_000, "show Retry-After", "4"],
    [6_499, "show Retry-After", "1"],
  ]);

  itPlays("is requested by a token after three quarters of maxAgeMs, and no token waits", [
    LOADED,
    [0, "publish second", ""],
    [0, "hold", ""],
    [REFRESH - 1, "first", "accepted"],
    [REFRESH, "first", "request accepted"],
    [REFRESH, "3 first", "accepted"],
    [REFRESH, "respond", "fetched rotated"],
    [REFRESH, "second", "accepted"],
  ]);

  itPlays("is no longer used after maxAgeMs, not even during a request: tokens wait", [
    LOADED,
    [0, "publish second", ""],
    [0, "hold", ""],
    [REFRESH, "first", "request accepted"],
    [MAX_AGE - 1, "first", "accepted"],
    [MAX_AGE, "first", ""],
    [MAX_AGE, "respond", "fetched rotated key"],
  ]);

  itPlays("ages from its request, not from its response", [
    [0, "hold", ""],
    [0, "first", "request"],
    [4_000, "publish second", ""],
    [4_000, "respond", "fetched accepted"],
    [MAX_AGE, "first", "request fetched rotated key"],
  ]);

  itPlays("follows maxAgeMs even if the cooldown is longer", { keys: { maxAgeMs: 1_000 } }, [
    LOADED,
    [749, "first", "accepted"],
    [750, "first", "request fetched accepted"],
    [750, "publish second", ""],
    [1_750, "first", "request fetched rotated key"],
  ]);

  itPlays("is requested again when the clock is set back, so that withdrawn keys are rejected", [
    LOADED,
    [0, "publish second", ""],
    [-86_400_000, "first", "request fetched rotated key"],
  ]);

  itPlays("is not reported as rotated when only the order of its keys changes", [
    [0, "publish first and second", ""],
    LOADED,
    [0, "publish second and first", ""],
    [MAX_AGE, "first", "request fetched accepted"],
  ]);

  itPlays("is not used if it expired during its request, as after the machine slept", [
    [0, `sleep ${MAX_AGE} in a request`, ""],
    [0, "show cause", "request fetched request fetched The keys of URL expired before they could be used."],
    [MAX_AGE, "first", "accepted"],
  ]);
});

describe("the last good keys of a source that fails", () => {
  itPlays("are used for an hour by default, which failed requests do not extend", [
    LOADED,
    [0, "status 503", ""],
    [REFRESH, "first", "request failed accepted"],
    [MAX_AGE, "first", "stale request failed accepted"],
    [MAX_AGE, "show state", "stale [first]"],
    [MAX_AGE, "second", "unavailable"],
    [END - 1, "first", "request failed accepted"],
    [END, "first", "stale_ended unavailable"],
    [END, "first without kid", "unavailable"],
    [END, "show state", "unavailable []"],
    [END, "publish second", ""],
    [END + COOLDOWN, "second", "request fetched rotated accepted"],
  ]);

  itPlays("are used for staleMs", { keys: { maxAgeMs: 60_000, staleMs: 120_000 } }, [
    LOADED,
    [0, "status 503", ""],
    [179_999, "first", "request failed stale accepted"],
    [180_000, "first", "stale_ended unavailable"],
  ]);

  itPlays("are not used with a staleMs of 0", { keys: { staleMs: 0 } }, [
    LOADED,
    [0, "status 503", ""],
    [MAX_AGE - 1, "first", "request failed accepted"],
    [MAX_AGE, "first", "unavailable"],
  ]);

  itPlays("are used while one request is sent per cooldown, until it shows that a key was withdrawn", [
    LOADED,
    [0, "status 503", ""],
    [MAX_AGE, "first", "request failed stale accepted"],
    [MAX_AGE, "hold", ""],
    [MAX_AGE + RETRY - 1, "first", "accepted"],
    [MAX_AGE + RETRY, "3 first", "request accepted"],
    [MAX_AGE + RETRY, "respond", "failed"],
    [MAX_AGE + RETRY, "publish second", ""],
    [MAX_AGE + 3 * RETRY - 1, "first", "accepted"],
    [MAX_AGE + 3 * RETRY, "first", "request fetched stale_ended rotated accepted"],
    [MAX_AGE + 3 * RETRY, "second", "accepted"],
    [MAX_AGE + 3 * RETRY, "first", "key"],
  ]);

  for (const useless of ["no keys", "a weak key", "an elliptic key"] as const)
    itPlays(`are used if the source publishes ${useless}`, [
      LOADED,
      [0, `publish ${useless}`, ""],
      [MAX_AGE, "first", "request failed stale accepted"],
      [MAX_AGE, "second", "unavailable"],
      [END, "first", "stale_ended request failed unavailable"],
    ]);
});

describe("a token with an unknown kid", () => {
  itPlays("causes one request per cooldown, for which tokens of loaded keys do not wait", [
    LOADED,
    [0, "100 unknown", "request fetched key"],
    [0, "100 unknown", "key"],
    [COOLDOWN - 1, "second", "key"],
    [COOLDOWN, "publish first and second", ""],
    [COOLDOWN, "hold", ""],
    [COOLDOWN, "second", "request"],
    [COOLDOWN, "first", "accepted"],
    [COOLDOWN, "first without kid", "accepted"],
    [COOLDOWN, "respond", "fetched rotated accepted"],
  ]);

  itPlays("causes one request per second after a failure, and is not rejected", [
    LOADED,
    [0, "status 500", ""],
    [0, "100 unknown", "request failed unavailable"],
    [RETRY - 1, "100 unknown", "unavailable"],
    [RETRY, "100 unknown", "request failed unavailable"],
    [RETRY, "first", "accepted"],
  ]);

  itPlays("causes one request per cooldownMs", { keys: { cooldownMs: 1_000 } }, [
    LOADED,
    [0, "second", "request fetched key"],
    [0, "publish first and second", ""],
    [999, "second", "key"],
    [1_000, "second", "request fetched rotated accepted"],
  ]);

  itPlays("causes no request if no key of the set has a kid", uncached, [
    [0, "publish first without kid", ""],
    LOADED,
    [COOLDOWN, "first", "accepted"],
  ]);

  itPlays("causes a request before a key without a kid is tried in a mixed set", uncached, [
    [0, "publish first, and second without kid", ""],
    [0, "second", "request fetched failed accepted"],
    [COOLDOWN, "second", "request fetched accepted"],
  ]);

  const algorithms = { options: { algorithms: ["RS256", "ES256"] } } as const;
  itPlays("causes a request if only a key for another algorithm has its kid", algorithms, [
    LOADED,
    [0, "elliptic as first", "request fetched key"],
  ]);

  itPlays("causes a request if it has no kid, and no key is for its algorithm", algorithms, [
    LOADED,
    [0, "elliptic without kid", "request fetched key"],
  ]);
});

describe("a token with a bad signature", () => {
  itPlays("is accepted if a new key has the kid of the old one, which is no longer used", [
    LOADED,
    [0, "publish second as first", ""],
    [0, "second as first", "request fetched rotated accepted"],
    [0, "first", "signature"],
  ]);

  itPlays("causes one request per cooldown, together with unknown kids", [
    LOADED,
    [0, "1000 forged first", "request fetched signature"],
    [0, "10 unknown", "key"],
    [COOLDOWN - 1, "forged first", "signature"],
    [COOLDOWN, "1000 forged first", "request fetched signature"],
  ]);

  itPlays("is rejected if the source fails, and the keys stay in use", [
    LOADED,
    [0, "status 500", ""],
    [0, "forged first", "request failed signature"],
    [0, "first", "accepted"],
  ]);
});

describe("the background refresh", () => {
  itPlays("requests the set at three quarters of maxAgeMs with one timer, which every request resets", [
    READY,
    [REFRESH - 1, "wait", ""],
    [REFRESH, "wait", "request fetched"],
    [2 * REFRESH - 1, "wait", ""],
    [2 * REFRESH, "wait", "request fetched"],
    [2.5 * REFRESH, "wait", ""],
    [2.5 * REFRESH, "refresh", "request fetched refreshed"],
    [2.5 * REFRESH, "count timers", "1 timers"],
    [3.5 * REFRESH - 1, "wait", ""],
    [3.5 * REFRESH, "wait", "request fetched"],
  ]);

  const failures = [1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000].flatMap((time): readonly Step[] => [
    [time - 1, "wait", ""],
    [time, "wait", "request failed"],
  ]);
  itPlays("retries after a delay that doubles up to the cooldown, and returns to its normal interval", [
    [0, "status 500", ""],
    [0, "ready", "request failed Keys are unavailable. URL returned status 500."],
    ...failures,
    [91_000, "publish first", ""],
    [121_000, "wait", "request fetched"],
    [121_000, "status 500", ""],
    [121_000 + REFRESH - 1, "wait", ""],
    [121_000 + REFRESH, "wait", "request failed"],
    [121_000 + REFRESH + 1_000, "wait", "request failed"],
  ]);

  for (const [random, at] of [
    [0.5, REFRESH * 0.9],
    [0.999_999, REFRESH * 0.8 + 1],
  ] as const)
    itPlays(`starts up to a fifth earlier at random, so that servers do not fetch together: ${random}`, [
      [0, () => void vi.mocked(Math.random).mockReturnValue(random), ""],
      READY,
      [at - 2, "wait", ""],
      [at, "wait", "request fetched"],
    ]);

  itPlays("sends at most one request per second while the source fails", { keys: { cooldownMs: 0 } }, [
    [0, "status 500", ""],
    [0, "first", "request failed unavailable"],
    [999, "wait", ""],
    [1_000, "wait", "request failed"],
  ]);

  itPlays("sends at most one request per second while the source responds", { keys: { maxAgeMs: 1 } }, [
    LOADED,
    [999, "wait", ""],
    [1_000, "wait", "request fetched"],
  ]);
});

describe("a response that takes too long", () => {
  for (const [limit, keys] of [
    [TIMEOUT, {}],
    [300, { timeoutMs: 300 }],
  ] as const)
    itPlays(`fails after ${limit} ms, even if fetch ignores its signal, and is not used later`, { keys }, [
      [0, "publish second", ""],
      [0, "hold and ignore aborts", ""],
      [0, "ready", "request"],
      [limit - 1, "wait", ""],
      [limit, "wait", `failed aborted Keys are unavailable. URL timed out after ${limit} ms.`],
      [limit, "respond", ""],
      [limit, "second", "unavailable"],
      [limit + RETRY, "second", "request fetched accepted"],
    ]);

  const discovery = { keys: { jwksUri: undefined, discovery: true }, options: { issuer } };
  itPlays("shares its time limit with discovery, after which no request is sent", discovery, [
    [0, "hold and ignore aborts", ""],
    [0, "status 404", ""],
    [0, "ready", "request"],
    [TIMEOUT - 1, "wait", ""],
    [TIMEOUT - 1, "respond and hold", "request"],
    [TIMEOUT, "wait", `failed aborted Keys are unavailable. ${issuer}: ${issuer} timed out after 5000 ms.`],
    [TIMEOUT, "respond", ""],
  ]);
});

describe("keys that are too old because the process was suspended", () => {
  itPlays("are used after 250 ms if their source does not respond, until it does", [
    LOADED,
    [MAX_AGE, "hold", ""],
    [MAX_AGE, "publish second", ""],
    [MAX_AGE, "first", "request"],
    [MAX_AGE + 249, "wait", ""],
    [MAX_AGE + 250, "wait", "stale accepted"],
    [MAX_AGE + 250, "first", "accepted"],
    [MAX_AGE + 4_000, "respond", "fetched stale_ended rotated"],
    [MAX_AGE + 4_000, "second", "accepted"],
  ]);

  itPlays("are not used if their source responds sooner", [
    LOADED,
    [MAX_AGE, "hold", ""],
    [MAX_AGE, "publish second", ""],
    [MAX_AGE, "first", "request"],
    [MAX_AGE + 249, "wait", ""],
    [MAX_AGE + 249, "respond", "fetched rotated key"],
  ]);

  for (const [name, time, keys] of [
    ["after staleMs", END, {}],
    ["with a staleMs of 0", MAX_AGE, { staleMs: 0 }],
  ] as const)
    itPlays(`are not used ${name}: tokens wait for new keys`, { keys }, [
      LOADED,
      [time, "hold", ""],
      [time, "publish second", ""],
      [time, "first", "request"],
      [time, "second", ""],
      [time + 4_000, "wait", ""],
      [time + 4_000, "respond", "fetched rotated accepted key"],
    ]);
});

describe("close()", () => {
  itPlays("stops the background refresh, and keeps the keys usable until maxAgeMs", [
    READY,
    [0, "close", ""],
    [0, "close", ""],
    [0, "count timers", "0 timers"],
    [COOLDOWN, "second", "unavailable"],
    [MAX_AGE - 1, "wait", ""],
    [MAX_AGE - 1, "first", "accepted"],
    [MAX_AGE, "first", "unavailable"],
    [MAX_AGE, "count timers", "0 timers"],
  ]);

  itPlays("keeps stale keys usable for staleMs", [
    READY,
    [0, "status 500", ""],
    [MAX_AGE, "first", "request failed stale accepted"],
    [MAX_AGE, "close", ""],
    [END - 1, "first", "accepted"],
    [END, "first", "stale_ended unavailable"],
  ]);

  itPlays("aborts a running request, rejects its callers, and emits no event", [
    [0, "hold", ""],
    [0, "first", "request"],
    [0, "close", "aborted unavailable"],
    [0, "count timers", "0 timers"],
  ]);

  itPlays("prevents the first request", [
    [0, "close", ""],
    [0, "first", "unavailable"],
    [0, "ready", "Keys are unavailable. URL can't be fetched: the resource server is closed."],
  ]);
});

describe("ready() and refreshKeys()", () => {
  itPlays("request keys that are missing or too old, and refreshKeys() also requests fresh ones", [
    READY,
    [0, "publish second", ""],
    [MAX_AGE - 1, "ready", "ready"],
    [MAX_AGE, "ready", "request fetched rotated ready"],
    [MAX_AGE, "publish first", ""],
    [MAX_AGE, "refresh", "request fetched rotated refreshed"],
    [MAX_AGE, "first", "accepted"],
  ]);

  itPlays("request keys again after a failure, whatever the cooldown is, and report the current state", [
    READY,
    [0, "status 500", ""],
    [0, "refresh", "request failed Keys are unavailable. URL returned status 500."],
    [0, "first", "accepted"],
    [0, "ready", "request failed Keys are unavailable. URL returned status 500."],
    [0, "publish first", ""],
    [0, "ready", "request fetched ready"],
  ]);

  itPlays("send a request after that of refreshKeys(), whose response could be older", [
    [0, "hold", ""],
    [0, "ready", "request"],
    [0, "publish second", ""],
    [0, "refresh", ""],
    [0, "respond", "fetched request fetched rotated ready refreshed"],
  ]);
});

describe("a clock that fails", () => {
  for (const failure of ["clock throws", "clock returns NaN"] as const)
    itPlays(
      `causes no request and no use of keys, fresh or stale, until it works again: ${failure}`,
      uncached,
      [
        [0, failure, ""],
        [0, "first", "failed unavailable"],
        [0, "show state", "unavailable []"],
        [0, "clock works", ""],
        LOADED,
        [0, failure, ""],
        [0, "second", "unavailable"],
        [0, "first", "unavailable"],
        [0, "clock works", ""],
        [0, "status 500", ""],
        [MAX_AGE, "first", "request failed stale accepted"],
        [MAX_AGE, failure, ""],
        [MAX_AGE, "first", "unavailable"],
        [MAX_AGE, "show state", "unavailable []"],
      ],
    );

  it("does not affect a bad signature if it fails before newer keys are requested", async () => {
    let now = () => NOW * 1000;
    const { fetch } = createFakeIssuer(first);
    const { server, verdict } = createRemote({ jwksUri, fetch }, { now: () => now() });
    await server.ready();
    vi.spyOn(webcrypto.subtle, "verify").mockImplementationOnce(() => {
      now = () => Number.NaN;
      return Promise.resolve(false);
    });
    expect(await verdict(await first.token())).toBe("signature");
  });

  it("causes a fixed message if it throws no error, and one request with a hook that calls ready()", async () => {
    const events: unknown[] = [];
    const { server }: { server: ResourceServer } = createRemote(
      { jwksUri, fetch: createFakeIssuer(first).fetch },
      {
        now: () => {
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- Code may throw anything.
          throw "canary";
        },
        onKeyEvent: ({ message }) => {
          events.push(message);
          void server.ready().catch(() => undefined);
        },
      },
    );
    await expect(server.ready()).rejects.toThrow(`Keys are unavailable. ${jwksUri} failed.`);
    expect(events).toEqual([`${jwksUri} failed.`]);
  });
});

it("uses the current global fetch unless the options contain one", async () => {
  const { fetch } = createFakeIssuer(first);
  const [configured, platform] = [createRemote({ jwksUri, fetch }), createRemote({ jwksUri })];
  const later = createFakeIssuer(second).fetch;
  vi.stubGlobal("fetch", later);
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(await configured.verdict(await first.token())).toBe("accepted");
  expect(await platform.verdict(await second.token())).toBe("accepted");
});
