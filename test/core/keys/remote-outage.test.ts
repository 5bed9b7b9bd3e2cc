/** How long remote keys are used while their issuer is down. */
import { describe, expect, it, vi } from "vitest";
import { behave } from "../../support/fault-server.ts";
import { COOLDOWN, createRemote, MAX_AGE, REFRESH, RETRY, STALE } from "../../support/remote-keys.ts";
import { asked, first, issuer, jwksUri, publish, second, useKeyIssuer } from "../../support/key-issuer.ts";
import { createServer, verdictOf } from "../../support/resource-servers.ts";

useKeyIssuer();

describe("a remote set whose issuer is down", () => {
  it.each<readonly [string, object, number]>([
    ["an hour by default", {}, MAX_AGE + STALE],
    ["staleMs", { maxAgeMs: 60_000, staleMs: 120_000 }, 180_000],
    ["not at all with a staleMs of 0", { staleMs: 0 }, MAX_AGE],
  ])("serves stale keys for a limited time: %s", async (_, timing, end) => {
    const { verdict, pass } = createRemote({ jwksUri, ...timing });
    await verdict(await first.token());
    await issuer.stop();
    pass(end - 1);
    expect(await verdict(await first.token())).toBe("accepted");
    pass(1);
    expect(await verdict(await first.token())).toBe("unavailable");
    expect(await verdict(await first.token({}, { kid: undefined }))).toBe("unavailable");
  });

  it("serves stale keys for a time that failed fetches do not extend", async () => {
    const { verdict, pass } = createRemote({ jwksUri });
    await verdict(await first.token());
    await issuer.stop();
    for (const part of [REFRESH, MAX_AGE - REFRESH, STALE / 2, STALE / 2 - 1]) {
      pass(part);
      expect(await verdict(await first.token())).toBe("accepted");
    }
    pass(1);
    expect(await verdict(await first.token())).toBe("unavailable");
  });

  it("sends one request per cooldown, and no token waits for it", async () => {
    const { verdict, pass, whenEmitted } = createRemote({ jwksUri });
    await verdict(await first.token());
    issuer.answer("/jwks", behave.status(503));
    pass(MAX_AGE);
    expect(await verdict(await first.token())).toBe("accepted");
    const gate = behave.held(behave.status(503));
    issuer.answer("/jwks", gate);
    pass(COOLDOWN - 1);
    expect(await verdict(await first.token())).toBe("accepted");
    expect(asked()).toBe(2);
    pass(1);
    for (let turn = 0; turn < 3; turn += 1) expect(await verdict(await first.token())).toBe("accepted");
    await issuer.whenAsked("/jwks", 3);
    gate.release();
    await whenEmitted("failed", 2);
    expect(await verdict(await first.token())).toBe("accepted");
    expect(asked()).toBe(3);
  });

  it("rejects a key withdrawn during the outage as soon as the issuer is back", async () => {
    const { verdict, pass, whenEmitted } = createRemote({ jwksUri });
    await verdict(await first.token());
    await issuer.stop();
    pass(MAX_AGE + STALE / 2);
    expect(await verdict(await first.token())).toBe("accepted");
    publish(second);
    await issuer.start();
    pass(COOLDOWN);
    expect(await verdict(await first.token())).toBe("accepted");
    await whenEmitted("rotated");
    expect(await verdict(await first.token())).toBe("key");
  });

  it("emits `failed` with every attempt, and `stale` once per outage", async () => {
    const { verdict, pass, whenEmitted, types, events } = createRemote({ jwksUri });
    await verdict(await first.token());
    for (let outage = 1; outage <= 2; outage += 1) {
      issuer.answer("/jwks", behave.status(503));
      pass(MAX_AGE);
      for (let turn = 0; turn < 3; turn += 1) await verdict(await first.token());
      pass(COOLDOWN);
      await verdict(await first.token());
      await whenEmitted("failed", outage * 2);
      publish(first);
      pass(COOLDOWN);
      await verdict(await first.token());
      await whenEmitted("fetched", outage + 1);
    }
    const of = ["failed", "stale", "failed", "fetched", "stale_ended"];
    expect(types()).toEqual(["fetched", ...of, ...of]);
    const failed = { type: "failed", source: jwksUri, message: `${jwksUri} returned status 503.` };
    expect(events.slice(1, 3)).toMatchObject([failed, { ...failed, type: "stale" }]);
  });

  it("emits process warnings when there is no onKeyEvent", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    let time = 0;
    const server = createServer({ keys: { jwksUri }, now: () => time });
    await server.ready();
    await issuer.stop();
    time += MAX_AGE;
    await verdictOf(server, await first.token());
    await server.close();
    const warned = warn.mock.calls.map(([text]) => text);
    warn.mockRestore();
    expect(warned).toEqual([
      `Keys of ${jwksUri}: ${jwksUri} can't be fetched (ECONNREFUSED).`,
      `The last good keys of ${jwksUri} are in use.`,
    ]);
  });
});

describe("an issuer that was never available", () => {
  it("causes unavailable keys, with one request per cooldown of a second", async () => {
    await issuer.stop();
    const { verdict, pass, types } = createRemote({ jwksUri });
    for (const kid of ["first", "unknown", undefined])
      expect(await verdict(await first.token({}, { kid }))).toBe("unavailable");
    pass(RETRY - 1);
    expect(await verdict(await first.token())).toBe("unavailable");
    expect(types()).toEqual(["failed"]);
    await issuer.start();
    expect(await verdict(await first.token())).toBe("unavailable");
    pass(1);
    expect(await verdict(await first.token())).toBe("accepted");
  });

  it("receives no request before the cooldown after the end of the failed fetch", async () => {
    const gate = behave.held(behave.status(500));
    issuer.answer("/jwks", gate);
    const { verdict, pass } = createRemote({ jwksUri });
    const waiting = verdict(await first.token());
    await issuer.whenAsked("/jwks", 1);
    pass(RETRY);
    gate.release();
    expect(await waiting).toBe("unavailable");
    pass(RETRY - 1);
    expect(await verdict(await first.token())).toBe("unavailable");
    expect(asked()).toBe(1);
  });
});
