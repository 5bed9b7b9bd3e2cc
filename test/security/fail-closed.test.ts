/** Code of the application that fails inside a server: nobody gets in by it, and a hook that is only told changes nothing. */
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { createServer, issuer, NOW } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import { type OwnTimers, useOwnTimers } from "../support/timers.ts";

const never: unknown = new Promise(() => undefined);
const thrower = () => {
  throw new Error("The application failed.");
};
const throwingGetter = (name: string): unknown => Object.defineProperty({}, name, { get: thrower });

/** What a callback may do that nobody planned for; none of it is `false`, or a time. */
const failures: readonly (readonly [string, () => unknown])[] = [
  ["throws", thrower],
  [
    "throws something other than an error",
    () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- Code may throw anything.
      throw undefined;
    },
  ],
  ["rejects", () => Promise.reject(new Error("The application failed."))],
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- Code may reject with anything.
  ["rejects with nothing", () => Promise.reject(undefined)],
  [
    "rejects with a promise of another realm",
    () => runInNewContext("Promise.reject(new Error('far away'))") as unknown,
  ],
  ["never settles", () => never],
  ["returns a promise of another library that never settles", () => ({ then: () => undefined })],
  ["returns a promise of undefined", () => Promise.resolve()],
  ["returns an object that throws when it is awaited", () => throwingGetter("then")],
  [
    "returns a promise that throws when it is inspected",
    () => Object.defineProperty(Promise.resolve(false), "constructor", { get: thrower }),
  ],
  ["returns a thenable that throws", () => ({ then: thrower })],
  ["returns an object that throws as a string", () => ({ toString: thrower, valueOf: thrower })],
  ["returns a function", () => () => false],
  ["returns a symbol", () => Symbol("false")],
  ["returns an array", () => [false]],
  ["returns a string", () => "false"],
  ["returns undefined", () => undefined],
  ["returns null", () => null],
  ["returns a boxed boolean", () => Object(false) as unknown],
];

const request = { method: "GET", target: "/agents" };
const authorization = `Bearer ${await issuer.token({ scopes: ["agents:read"], exp: NOW + 60 })}`;

let timers: OwnTimers;
beforeEach(() => {
  timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The outcome of a check, with all the time in the world. `fault` where it rejects: adapters answer that with an error. */
async function outcomeOf(server: ResourceServer): Promise<string> {
  let outcome: string | undefined;
  const checking = timers
    .run(() => server.check({ ...request, authorization }))
    .then(
      (decision) => (outcome = decision.allowed ? "allowed" : decision.reason),
      () => (outcome = "fault"),
    );
  // The signature is verified in another thread, however long that takes on a busy machine.
  for (let turn = 0; turn < 20_000 && outcome === undefined; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  await checking;
  expect(timers.count()).toBe(0);
  return outcome ?? "hangs";
}

const withCallback = (name: keyof ResourceServerOptions, callback: () => unknown): ResourceServer =>
  createServer({ [name]: callback });

describe("isRevoked", () => {
  it.each(failures)("refuses everyone when it %s", async (_, isRevoked) => {
    expect(await outcomeOf(withCallback("isRevoked", isRevoked))).toBe("keys_unavailable");
  });

  it("allows the caller when it returns false or a promise of false", async () => {
    const elsewhere = () => runInNewContext("Promise.resolve(false)") as unknown;
    for (const isRevoked of [() => false, () => Promise.resolve(false), elsewhere])
      expect(await outcomeOf(withCallback("isRevoked", isRevoked))).toBe("allowed");
  });
});

describe("now", () => {
  it.each([
    // A clock is not asynchronous: nobody looks at a promise that it gives, and Node.js ends the process for one that rejects.
    ...failures.filter(([name]) => !name.startsWith("rejects")),
    ["returns a time as a string", () => String(NOW * 1000)],
    ["returns a Date", () => new Date(NOW * 1000)],
    ["returns a bigint", () => BigInt(NOW * 1000)],
    ["returns NaN", () => Number.NaN],
    ["returns infinity", () => Infinity],
  ] as typeof failures)("refuses everyone when it %s", async (_, now) => {
    expect(await outcomeOf(withCallback("now", now))).toBe("fault");
  });
});

describe("onDecision", () => {
  it.each(failures)("changes nothing when it %s", async (_, onDecision) => {
    vi.spyOn(process, "emitWarning").mockReturnValue();
    expect(await outcomeOf(withCallback("onDecision", onDecision))).toBe("allowed");
    expect(await withCallback("onDecision", onDecision).check(request)).toMatchObject({
      reason: "credential_missing",
    });
  });
});

describe("onKeyEvent", () => {
  it.each(failures)("changes nothing when it %s", async (_, onKeyEvent) => {
    vi.spyOn(process, "emitWarning").mockReturnValue();
    const fetch = () => Promise.resolve(Response.json({ keys: [issuer.publicJwk] }));
    const server = createServer({ keys: { jwksUri: "https://issuer.example/jwks", fetch }, onKeyEvent });
    expect((await server.check({ ...request, authorization })).allowed).toBe(true);
    await server.close();
  });
});
