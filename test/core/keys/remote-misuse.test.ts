/** Remote keys with a broken clock, with hooks that call the server, and after close(). */
import { webcrypto } from "node:crypto";
import { expect, it, onTestFinished, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { first, second } from "../../support/key-issuer.ts";
import { createFakeIssuer, createRemote, MAX_AGE, setOf, STALE } from "../../support/remote-keys.ts";
import { NOW } from "../../support/resource-servers.ts";

const jwksUri = "https://issuer.example/jwks";
const throwing = (value: unknown) => () => {
  throw value;
};

it.each<readonly [string, () => number]>([
  ["returns NaN", () => Number.NaN],
  ["throws", throwing(new Error("canary"))],
])("sends no request and uses no keys while the clock %s, and recovers afterwards", async (_, broken) => {
  const { fetch, fail } = createFakeIssuer(first);
  let now = broken;
  const { verdict } = createRemote({ jwksUri, fetch }, { now: () => now(), tokenCache: false });
  const token = await first.token();
  for (let turn = 0; turn < 3; turn += 1) expect(await verdict(token)).toBe("unavailable");
  expect(fetch).not.toHaveBeenCalled();
  const brokenAt = async (milliseconds: number) => {
    now = () => milliseconds;
    expect(await verdict(token)).toBe("accepted");
    now = broken;
    expect(await verdict(token)).toBe("unavailable");
  };
  await brokenAt(NOW * 1000);
  fail();
  // The keys are stale.
  await brokenAt(NOW * 1000 + MAX_AGE);
});

it("rejects a bad signature if the clock fails before newer keys are requested", async () => {
  let now = () => NOW * 1000;
  const { fetch } = createFakeIssuer(first);
  const { server, verdict } = createRemote({ jwksUri, fetch }, { now: () => now() });
  await server.ready();
  vi.spyOn(webcrypto.subtle, "verify").mockImplementationOnce(() => {
    now = throwing(new Error("canary"));
    return Promise.resolve(false);
  });
  expect(await verdict(await first.token())).toBe("signature");
});

it("reports a fixed message when the clock throws a value that is not an error", async () => {
  const { server, events } = createRemote(
    { jwksUri, fetch: createFakeIssuer(first).fetch },
    { now: throwing("canary") },
  );
  const reason: unknown = await server.ready().catch((error: unknown) => error);
  expect(reason).toMatchObject({ message: `Keys are unavailable. ${jwksUri} failed.` });
  expect(events).toMatchObject([{ type: "failed", source: jwksUri, message: `${jwksUri} failed.` }]);
});

it("does not use a set that expired during its fetch, as after the machine slept", async () => {
  const { fetch } = createFakeIssuer(first);
  const { verdict, pass, server } = createRemote({ jwksUri, fetch });
  fetch.mockImplementationOnce(() => {
    pass(MAX_AGE);
    return Promise.resolve(Response.json(setOf(first)));
  });
  await expect(server.authenticate(await first.token())).rejects.toMatchObject({
    code: "keys_unavailable",
    cause: new Error(`The keys of ${jwksUri} expired before they could be used.`),
  });
  expect(await verdict(await first.token())).toBe("accepted");
});

it("shares the running fetch with a hook that calls ready()", async () => {
  const onEvent = vi.fn();
  const onKeyEvent = () => {
    onEvent();
    void server.ready().catch(() => undefined);
  };
  const { server }: { server: ResourceServer } = createRemote(
    { jwksUri, fetch: createFakeIssuer(first).fetch },
    { now: throwing(new Error("canary")), onKeyEvent },
  );
  await expect(server.ready()).rejects.toThrow("canary");
  expect(onEvent).toHaveBeenCalledOnce();
});

it("uses stale keys for staleMs when closed during an outage", async () => {
  const { fetch, fail } = createFakeIssuer(first);
  const { server, verdict, pass } = createRemote({ jwksUri, fetch });
  await server.ready();
  fail();
  pass(MAX_AGE);
  expect(await verdict(await first.token())).toBe("accepted");
  await server.close();
  pass(STALE - 1);
  expect(await verdict(await first.token())).toBe("accepted");
  pass(1);
  expect(await verdict(await first.token())).toBe("unavailable");
});

it("uses the current global fetch unless the options contain one", async () => {
  const { fetch } = createFakeIssuer(first);
  const [configured, platform] = [createRemote({ jwksUri, fetch }), createRemote({ jwksUri })];
  const later = createFakeIssuer(second).fetch;
  vi.stubGlobal("fetch", later);
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(await configured.verdict(await first.token())).toBe("accepted");
  expect(await platform.verdict(await second.token())).toBe("accepted");
  for (const { mock } of [fetch, later]) {
    const init = { method: "GET", redirect: "manual", signal: expect.any(AbortSignal) as AbortSignal };
    expect(mock.calls).toMatchObject([[jwksUri, init]]);
  }
});
