/** What operators see: `server.keys`, `server.refreshKeys()` and the properties of key events. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { first, second } from "../../support/key-issuer.ts";
import {
  COOLDOWN,
  createFakeIssuer,
  createRemote,
  MAX_AGE,
  setOf,
  STALE,
} from "../../support/remote-keys.ts";
import { createServer, NOW } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";

const jwksUri = "https://issuer.example/jwks";
const START = NOW * 1000;

function setUp() {
  const issuer = createFakeIssuer(first);
  return { ...issuer, ...createRemote({ jwksUri: `${jwksUri}?key=canary`, fetch: issuer.fetch }) };
}

it("lists one entry for each source, in the order of the issuers", () => {
  const directory = mkdtempSync(join(tmpdir(), "status-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const jwksFile = join(directory, "jwks.json");
  writeFileSync(jwksFile, JSON.stringify(setOf(second)));
  const { kid, ...bare } = first.publicJwk;
  const server = createResourceServer({
    serviceId: "agents-prod",
    now: () => START,
    issuers: [
      { issuer: "https://a.example", keys: { jwksUri }, algorithms: ["RS256"] },
      { issuer: "https://b.example", keys: { jwksFile }, algorithms: ["RS256"] },
      { issuer: "https://c.example", keys: { jwks: setOf(first, second) }, algorithms: ["RS256"] },
      { issuer: "https://d.example", verificationKeys: [bare], algorithms: ["RS256"] },
    ],
  });
  expect(server.keys).toEqual([
    { issuer: "https://a.example", source: jwksUri, state: "not loaded", keyIds: [] },
    {
      issuer: "https://b.example",
      source: jwksFile,
      state: "fresh",
      keyIds: ["second"],
      lastSuccess: new Date(START),
    },
    { issuer: "https://c.example", source: "jwks", state: "fresh", keyIds: ["first", "second"] },
    { issuer: "https://d.example", source: "verificationKeys", state: "fresh", keyIds: [] },
  ]);
});

it("shows the state of a source from its first use to the end of an outage", async () => {
  const { server, verdict, pass, publish, fail } = setUp();
  const loaded = { source: jwksUri, keyIds: ["first"], lastSuccess: new Date(START) };
  const reason = `${jwksUri} returned status 500.`;
  const staleUntil = new Date(START + MAX_AGE + STALE);
  await verdict(await first.token());
  expect(server.keys).toEqual([{ ...loaded, state: "fresh" }]);

  fail();
  pass(MAX_AGE);
  await verdict(await first.token());
  const lastFailure = { time: new Date(START + MAX_AGE), reason };
  expect(server.keys).toEqual([{ ...loaded, state: "stale", lastFailure, staleUntil }]);

  pass(STALE);
  expect(server.keys).toEqual([{ ...loaded, state: "unavailable", keyIds: [], lastFailure }]);

  publish(second);
  expect(await verdict(await second.token())).toBe("accepted");
  const lastSuccess = new Date(START + MAX_AGE + STALE);
  expect(server.keys).toEqual([
    { source: jwksUri, state: "fresh", keyIds: ["second"], lastSuccess, lastFailure },
  ]);
  pass(Number.NaN);
  expect(server.keys).toMatchObject([{ state: "unavailable" }]);
});

it("shows a source that was never available", async () => {
  const { server, fail } = setUp();
  fail();
  await server.ready().catch(() => undefined);
  const lastFailure = { time: new Date(START), reason: `${jwksUri} returned status 500.` };
  expect(server.keys).toStrictEqual([{ source: jwksUri, state: "unavailable", keyIds: [], lastFailure }]);
});

it("fetches fresh keys again in refreshKeys, and rejects with every source that failed", async () => {
  const { server, verdict, fetch, publish, fail } = setUp();
  await server.ready();
  publish(second);
  await server.refreshKeys();
  expect(await verdict(await first.token())).toBe("key");
  fail();
  await expect(server.refreshKeys()).rejects.toMatchObject({
    code: "keys_unavailable",
    message: `Keys are unavailable. ${jwksUri} returned status 500.`,
  });
  expect(await verdict(await second.token())).toBe("accepted");
  expect(fetch).toHaveBeenCalledTimes(4);
});

it("ignores the response to an earlier request in refreshKeys", async () => {
  const { server, verdict, fetch, publish } = setUp();
  let answer: (response: Response) => void = () => undefined;
  fetch.mockImplementationOnce(() => new Promise((resolve) => (answer = resolve)));
  const early = server.ready();
  await vi.waitUntil(() => fetch.mock.calls.length === 1);
  publish(second);
  const refreshing = server.refreshKeys();
  answer(Response.json(setOf(first)));
  await Promise.all([early, refreshing]);
  expect(await verdict(await second.token())).toBe("accepted");
  expect(fetch).toHaveBeenCalledTimes(2);
});

it("resolves refreshKeys for keys in the options", async () => {
  await expect(createServer().refreshKeys()).resolves.toBeUndefined();
  const jwks = setOf(first);
  await expect(createServer({ keys: { jwks } }).refreshKeys()).resolves.toBeUndefined();
});

it("shows in events when and why keys were loaded, which keys are in use, and when the use of stale keys begins and ends", async () => {
  const { server, verdict, pass, events, publish, fail } = setUp();
  const shown = () => events.map(({ type, time, reason, keyIds }) => [type, +time - START, reason, keyIds]);
  await verdict(await first.token());
  publish(first, second);
  await verdict(await second.token());
  expect(shown()).toEqual([
    ["fetched", 0, "first_use", ["first"]],
    ["fetched", 0, "unknown_kid", ["first", "second"]],
    ["rotated", 0, "unknown_kid", ["first", "second"]],
  ]);

  fail();
  pass(MAX_AGE);
  const seen = events.length;
  await expect(server.refreshKeys()).rejects.toThrow("status 500");
  await verdict(await first.token());
  const staleUntil = new Date(START + MAX_AGE + STALE);
  const message = `${jwksUri} returned status 500.`;
  expect(events.slice(seen)).toMatchObject([
    { type: "failed", reason: "requested", message, staleUntil },
    { type: "stale", reason: "requested", message, staleUntil },
  ]);

  pass(STALE);
  await verdict(await first.token());
  const ended = events.filter(({ type }) => type === "stale_ended");
  expect(ended).toMatchObject([{ message: "The last good keys are too old.", keyIds: ["first", "second"] }]);

  publish(first);
  pass(COOLDOWN);
  await verdict(await first.token());
  expect(events.filter(({ type }) => type === "stale_ended")).toHaveLength(1);
});

it("reports that stale keys are no longer used because the source works again", async () => {
  const { server, verdict, pass, events, publish, fail } = setUp();
  await server.ready();
  fail();
  pass(MAX_AGE);
  await verdict(await first.token());
  publish(first);
  await server.refreshKeys();
  const last = events.at(-1);
  expect(last).toMatchObject({ type: "stale_ended", reason: "requested", keyIds: ["first"] });
  expect(last).not.toHaveProperty("message");
  expect(last).not.toHaveProperty("staleUntil");
});
