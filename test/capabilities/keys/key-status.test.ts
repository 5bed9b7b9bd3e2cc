/** What operators see: `server.keys`, key events, and warnings where nobody listens to events. */
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
import { createServer, NOW, verdictOf } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";

const jwksUri = "https://issuer.example/jwks";
const START = NOW * 1000;
const message = `${jwksUri} returned status 500.`;
const staleUntil = new Date(START + MAX_AGE + STALE);

it("lists one entry for each source, in the order of the issuers", async () => {
  const directory = mkdtempSync(join(tmpdir(), "status-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const jwksFile = join(directory, "jwks.json");
  writeFileSync(jwksFile, JSON.stringify(setOf(second)));
  const { kid, ...bare } = first.publicJwk;
  const algorithms = ["RS256"] as const;
  const { fetch } = createFakeIssuer(first);
  const [a, b, c, d] = ["https://a.example", "https://b.example", "https://c.example", "https://d.example"];
  const server = createResourceServer({
    serviceId: "agents-prod",
    now: () => START,
    issuers: [
      { issuer: a, keys: { jwksUri: `${jwksUri}?key=canary`, fetch }, algorithms },
      { issuer: b, keys: { jwksFile }, algorithms },
      { issuer: c, keys: { jwks: setOf(first, second) }, algorithms },
      { issuer: d, verificationKeys: [bare], algorithms },
    ],
  });
  const lastSuccess = new Date(START);
  const local = [
    { issuer: b, source: jwksFile, state: "fresh", keyIds: ["second"], lastSuccess },
    { issuer: c, source: "jwks", state: "fresh", keyIds: ["first", "second"] },
    { issuer: d, source: "verificationKeys", state: "fresh", keyIds: [] },
  ];
  const remote = { issuer: a, source: jwksUri };
  expect(server.keys).toEqual([{ ...remote, state: "not loaded", keyIds: [] }, ...local]);
  await server.refreshKeys();
  expect(server.keys).toEqual([{ ...remote, state: "fresh", keyIds: ["first"], lastSuccess }, ...local]);
  await server.close();
});

it("shows in status and events when and why keys were loaded, which are in use, and until when", async () => {
  const { fetch, publish, fail } = createFakeIssuer(first);
  const { server, verdict, pass, events } = createRemote({ jwksUri: `${jwksUri}?key=canary`, fetch });
  const shownSince = (index: number) =>
    events.slice(index).map(({ type, time, reason, keyIds }) => [type, +time - START, reason, ...keyIds]);
  await verdict(await first.token());
  publish(first, second);
  await verdict(await second.token());
  expect(shownSince(0)).toEqual([
    ["fetched", 0, "first_use", "first"],
    ["fetched", 0, "unknown_kid", "first", "second"],
    ["rotated", 0, "unknown_kid", "first", "second"],
  ]);

  fail();
  pass(MAX_AGE);
  const error = { code: "keys_unavailable", message: `Keys are unavailable. ${message}` };
  await expect(server.refreshKeys()).rejects.toMatchObject(error);
  await verdict(await first.token());
  const time = new Date(START + MAX_AGE);
  const failed = { time, reason: "requested", message, staleUntil };
  expect(events.slice(3)).toMatchObject([
    { ...failed, type: "failed" },
    { ...failed, type: "stale" },
  ]);
  const lastFailure = { time, reason: message };
  const loaded = { source: jwksUri, keyIds: ["first", "second"], lastSuccess: new Date(START), lastFailure };
  expect(server.keys).toEqual([{ ...loaded, state: "stale", staleUntil }]);

  pass(STALE);
  expect(server.keys).toEqual([{ ...loaded, state: "unavailable", keyIds: [] }]);
  await verdict(await first.token());
  const ended = events.filter(({ type }) => type === "stale_ended");
  expect(ended).toMatchObject([{ message: "The last good keys are too old.", keyIds: ["first", "second"] }]);

  publish(first);
  await server.refreshKeys();
  expect(server.keys).toMatchObject([{ state: "fresh", lastSuccess: new Date(START + MAX_AGE + STALE) }]);
  pass(COOLDOWN);
  await verdict(await second.token({}, { kid: "first" }));
  expect(shownSince(events.length - 1)).toEqual([
    ["fetched", MAX_AGE + STALE + COOLDOWN, "bad_signature", "first"],
  ]);
});

it("shows no message and no end in the event after the source works again", async () => {
  const { fetch, publish, fail } = createFakeIssuer(first);
  const { server, verdict, pass, events } = createRemote({ jwksUri, fetch });
  await server.ready();
  fail();
  pass(MAX_AGE);
  await verdict(await first.token());
  publish(first);
  await server.refreshKeys();
  const time = new Date(START + MAX_AGE);
  const ended = { type: "stale_ended", source: jwksUri, time, reason: "requested", keyIds: ["first"] };
  expect(events.at(-1)).toEqual(ended);
});

it("emits process warnings without onKeyEvent", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  let time = 0;
  const { fetch, fail } = createFakeIssuer(first);
  const server = createServer({ keys: { jwksUri, fetch }, now: () => time });
  await server.ready();
  fail();
  time += MAX_AGE;
  await verdictOf(server, await first.token());
  await server.close();
  expect(warn.mock.calls.map(([text]) => text)).toEqual([
    `Keys of ${jwksUri}: ${message}`,
    `The last good keys of ${jwksUri} are in use.`,
  ]);
});
