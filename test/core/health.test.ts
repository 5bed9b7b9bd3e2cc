/** `server.health()`, for readiness probes. */
import { expect, it } from "vitest";
import { first as signer } from "../support/key-issuer.ts";
import { createFakeIssuer, createRemote, MAX_AGE, setOf, STALE } from "../support/remote-keys.ts";
import { createServer, issuer } from "../support/resource-servers.ts";
import { createResourceServer } from "../support/server.ts";

const jwksUri = "https://issuer.example/jwks";

function setUp() {
  const issuer = createFakeIssuer(signer);
  return { ...issuer, ...createRemote({ jwksUri, fetch: issuer.fetch }) };
}

it("reports ok with keys in the options, and the size of the cache", async () => {
  const server = createServer();
  const status = { source: "verificationKeys", state: "fresh", keyIds: [] };
  expect(server.health()).toEqual({
    status: "ok",
    policy: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    keys: [status],
    cache: { entries: 0, bytes: 0 },
  });
  await server.authenticate(await issuer.token());
  const { entries, bytes } = server.health().cache ?? {};
  expect([entries, Number(bytes) > 0]).toEqual([1, true]);
  expect(createServer({ tokenCache: false }).health()).not.toHaveProperty("cache");
});

it("reports ok before the keys are loaded by the first token, and never fetches them itself", async () => {
  const { server, fetch, verdict } = setUp();
  expect(server.health()).toMatchObject({ status: "ok", keys: [{ state: "not loaded" }] });
  await new Promise(setImmediate);
  expect(fetch).not.toHaveBeenCalled();
  expect(await verdict(await signer.token())).toBe("accepted");
  expect(server.health()).toMatchObject({ status: "ok", keys: [{ state: "fresh" }] });
});

it("reports degraded while the last good keys are in use, then unavailable, and ok after the outage", async () => {
  const { server, fail, fetch, pass, publish } = setUp();
  await server.ready();
  fail();
  await expect(server.refreshKeys()).rejects.toThrow("500");
  expect(server.health()).toMatchObject({ status: "degraded", keys: [{ state: "fresh" }] });
  pass(MAX_AGE);
  expect(server.health()).toMatchObject({ status: "degraded", keys: [{ state: "stale" }] });
  pass(STALE);
  fetch.mockClear();
  expect(server.health()).toMatchObject({ status: "unavailable", keys: [{ state: "unavailable" }] });
  await new Promise(setImmediate);
  expect(fetch).not.toHaveBeenCalled();
  publish(signer);
  await server.refreshKeys();
  expect(server.health().status).toBe("ok");
});

it("reports unavailable if the first load failed, and if the clock fails", async () => {
  const { server, fail, pass } = setUp();
  fail();
  await expect(server.ready()).rejects.toThrow("500");
  expect(server.health().status).toBe("unavailable");
  pass(Number.NaN);
  expect(server.health().status).toBe("unavailable");
});

it("reports degraded if one of several issuers is unavailable, because tokens of the others are accepted", async () => {
  const { fetch, fail } = createFakeIssuer();
  fail();
  const algorithms = ["RS256"] as const;
  const server = createResourceServer({
    serviceId: "agents-prod",
    issuers: [
      { issuer: "https://a.example", keys: { jwksUri, fetch }, algorithms },
      { issuer: "https://b.example", keys: { jwks: setOf(signer) }, algorithms },
    ],
    onKeyEvent: () => undefined,
  });
  await expect(server.ready()).rejects.toThrow("500");
  expect(server.health()).toMatchObject({
    status: "degraded",
    keys: [{ state: "unavailable" }, { state: "fresh" }],
  });
  await server.close();
});
