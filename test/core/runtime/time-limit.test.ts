import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Decision, KeysUnavailableError } from "scopegate";
import type { KeyMaterial, KeyResolver } from "../../../src/core/keys/verification-key.ts";
import { withinLimit } from "../../../src/core/runtime/time-limit.ts";
import type { TokenRules } from "../../../src/core/token/verifier.ts";
import { createVerifier } from "../../support/verifier.ts";
import { createServer, issuer, NOW } from "../../support/resource-servers.ts";
import { type OwnTimers, useOwnTimers } from "../../support/timers.ts";

let timers: OwnTimers;
/** All timers of the test count. */
const owned =
  <Values extends unknown[]>(test: (...values: Values) => Promise<void>) =>
  (...values: Values) =>
    timers.run(() => test(...values));

const never = new Promise<never>(() => undefined);

describe("withinLimit", () => {
  beforeEach(() => void (timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] })));
  afterEach(() => void vi.useRealTimers());

  it(
    "returns a result in time and leaves no timer",
    owned(async () => {
      expect(await withinLimit(Promise.resolve(5), "The source")).toBe(5);
      expect(await withinLimit(5, "The source")).toBe(5);
      await expect(withinLimit(Promise.reject(new Error("no")), "The source")).rejects.toThrow("no");
      expect(timers.count()).toBe(0);
    }),
  );

  it.each<readonly [string, PromiseLike<unknown>]>([
    ["a promise", never],
    ["a promise of another library", { then: () => never }],
  ])(
    "rejects after five seconds and leaves no timer: %s",
    owned(async (_, answer) => {
      const failed = vi.fn<(error: Error) => void>();
      void withinLimit(answer, "The source").catch(failed);
      await vi.advanceTimersByTimeAsync(4_999);
      expect(failed).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(failed.mock.calls[0]?.[0].message).toBe("The source timed out after 5000 ms.");
      expect(timers.count()).toBe(0);
    }),
  );

  it(
    "rejects immediately if the then property throws",
    owned(async () => {
      const odd = Object.defineProperty({}, "then", {
        get: () => {
          throw new Error("odd");
        },
      });
      await expect(withinLimit(odd as PromiseLike<unknown>, "The source")).rejects.toThrow("odd");
      expect(timers.count()).toBe(0);
    }),
  );
});

/** A promise that never settles and counts its reactions. */
function createCounting(): { readonly promise: Promise<boolean>; readonly reactions: () => number } {
  let reactions = 0;
  const promise = new Promise<boolean>(() => undefined);
  const then = promise.then.bind(promise);
  void Object.defineProperty(promise, "then", {
    value: (...parameters: Parameters<typeof then>) => {
      reactions += 1;
      return then(...parameters);
    },
  });
  return { promise, reactions: () => reactions };
}

describe("one promise for many calls, which never settles", () => {
  beforeEach(() => void (timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] })));
  afterEach(() => void vi.useRealTimers());

  it("receives one reaction from withinLimit, which keeps nothing after the time limit", async () => {
    const { promise, reactions } = createCounting();
    const kept: WeakRef<object>[] = [];
    let failed = 0;
    for (let batch = 0; batch < 20; batch += 1) {
      for (let call = 0; call < 100; call += 1) {
        const request = { call };
        if (call === 0) kept.push(new WeakRef(request));
        void withinLimit(promise, "The source").catch(() => void (failed += request.call >= 0 ? 1 : 0));
      }
      await vi.advanceTimersByTimeAsync(5_000);
    }
    expect([failed, reactions()]).toEqual([2_000, 1]);
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    await new Promise(setImmediate);
    collectGarbage();
    expect(kept.filter((request) => request.deref())).toEqual([]);
    expect(promise).toBeInstanceOf(Promise);
  });

  it("receives one reaction from `isRevoked` and `onDecision`", async () => {
    const revoked = createCounting();
    const observed = createCounting();
    const onDecision: (decision: Decision) => unknown = () => observed.promise;
    const server = createServer({
      isRevoked: () => revoked.promise,
      onDecision,
    });
    const request = { method: "GET", target: "/agents", authorization: `Bearer ${await issuer.token()}` };
    await server.check({ method: "GET", target: "/agents" });
    for (let round = 0; round < 3; round += 1) {
      const decisions = [...Array(50).keys()].map(() => server.check(request));
      while (vi.getTimerCount() < 50) await new Promise(setImmediate);
      await vi.advanceTimersByTimeAsync(5_000);
      for (const decision of await Promise.all(decisions))
        expect(decision).toMatchObject({
          reason: "keys_unavailable",
          cause: new Error("The revocation check timed out after 5000 ms."),
        });
    }
    expect([revoked.reactions(), observed.reactions()]).toEqual([1, 1]);
  });

  it(
    "resolves every call if it settles after all",
    owned(async () => {
      let resolve: (value: number) => void = () => undefined;
      const promise = new Promise<number>((settle) => (resolve = settle));
      const calls = [1, 2, 3].map(() => withinLimit(promise, "The source"));
      resolve(7);
      expect(await Promise.all([...calls, withinLimit(promise, "The source")])).toEqual([7, 7, 7, 7]);
      let reject: (reason: Error) => void = () => undefined;
      const failing = new Promise<number>((_, settle) => (reject = settle));
      const failures = [1, 2].map(() => withinLimit(failing, "The source"));
      reject(new Error("no"));
      for (const failure of failures) await expect(failure).rejects.toThrow("no");
      await expect(withinLimit(failing, "The source")).rejects.toThrow("no");
      expect(timers.count()).toBe(0);
    }),
  );
});

it("uses a timer that does not keep the process alive", () => {
  const setTimer = vi.spyOn(globalThis, "setTimeout");
  void withinLimit(never, "The source");
  const timer = setTimer.mock.results[0]?.value as NodeJS.Timeout;
  setTimer.mockRestore();
  expect(timer.hasRef()).toBe(false);
  clearTimeout(timer);
});

describe("a key source", () => {
  const rules: TokenRules = {
    algorithms: ["RS256"],
    issuer: undefined,
    audience: undefined,
    requiredClaims: [],
    tokenTypes: ["JWT"],
    clockToleranceSeconds: 0,
    maxTokenAgeSeconds: undefined,
    now: () => NOW * 1000,
  };
  const keyOf = (material: () => KeyMaterial | Promise<KeyMaterial>) => [
    { algorithms: new Set(["RS256"] as const), material },
  ];

  it.each<readonly [string, KeyResolver["find"]]>([
    ["a key", () => keyOf(() => never)],
    ["a key found asynchronously", () => Promise.resolve(keyOf(() => never))],
  ])("reports unavailable keys, not a rejected token, if the import of %s never ends", async (_, find) => {
    const token = await issuer.token();
    timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const verifying = timers.run(() => createVerifier(rules, find)(token));
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await verifying).toEqual({
        kind: "unavailable",
        cause: expect.objectContaining({
          message: expect.stringContaining("import of a key") as string,
        }) as Error,
      });
      expect(timers.count()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each<readonly [string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a string", "key"],
    ["a promise of undefined", Promise.resolve()],
    ["an array of undefined", [undefined]],
    ["a key without material", [{ algorithms: new Set(["RS256"]) }]],
  ])("reports unavailable keys when it returns %s", async (_, answer) => {
    const find = () => answer as ReturnType<KeyResolver["find"]>;
    const verify = createVerifier(rules, find);
    expect(await verify(await issuer.token())).toMatchObject({ kind: "unavailable" });
  });

  it.each([0, 1])("sets no timer when the keys are loaded: %i keys", async (count) => {
    const setTimer = vi.spyOn(globalThis, "setTimeout");
    const find = () => keyOf(() => issuer.publicKey).slice(0, count);
    const { kind } = await createVerifier(rules, find)(await issuer.token());
    expect(kind).toBe(count === 0 ? "rejected" : "verified");
    expect(setTimer).not.toHaveBeenCalled();
    setTimer.mockRestore();
  });
});

it("limits the time of ready() as well", async () => {
  const hanging = createServer({ algorithm: "HS256", verificationKeys: ["k".repeat(32)] });
  const importKey = vi.spyOn(globalThis.crypto.subtle, "importKey").mockReturnValue(never);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const readying = hanging.ready().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await readying).toBeInstanceOf(KeysUnavailableError);
  } finally {
    vi.useRealTimers();
    importKey.mockRestore();
  }
});
