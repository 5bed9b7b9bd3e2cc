import { describe, expect, it } from "vitest";
import { behave } from "../../support/fault-server.ts";
import { createIssuer } from "../../support/issuer.ts";
import { COOLDOWN, createRemote, MAX_AGE, REFRESH, setOf, STALE } from "../../support/remote-keys.ts";
import { asked, first, issuer, jwksUri, publish, second, useKeyIssuer } from "../../support/key-issuer.ts";

useKeyIssuer();

describe("a remote JWK Set", () => {
  it("sends no request at construction or for a token that is rejected without keys", async () => {
    const { verdict } = createRemote({ jwksUri });
    expect(await verdict("a.b.c")).toBe("malformed");
    expect(await verdict(await createIssuer({ algorithm: "ES256" }).token())).toBe("algorithm");
    expect(await verdict(await first.token({}, { typ: "logout+jwt" }))).toBe("type");
    expect(asked()).toBe(0);
  });

  it("sends no credentials and reports its URL without the query", async () => {
    const seen: (string | undefined)[] = [];
    issuer.answer("/jwks?key=canary", (request, response) => {
      const { authorization, cookie, accept } = request.headers;
      seen.push(request.method, authorization, cookie, accept);
      behave.json(setOf(first))(request, response);
    });
    const named = { issuer: "https://issuer.example" };
    const { verdict, events } = createRemote({ jwksUri: `${jwksUri}?key=canary` }, named);
    expect(await verdict(await first.token({ iss: named.issuer }))).toBe("accepted");
    expect(seen).toEqual(["GET", undefined, undefined, "application/json, application/jwk-set+json"]);
    expect(events).toMatchObject([{ type: "fetched", source: jwksUri, ...named }]);
  });
});

describe("the age of a remote JWK Set", () => {
  it("causes one background fetch after three quarters of maxAgeMs, for which no token waits", async () => {
    const { verdict, pass, whenEmitted } = createRemote({ jwksUri });
    await verdict(await first.token());
    const gate = behave.held(behave.json(setOf(second)));
    issuer.answer("/jwks", gate);
    pass(REFRESH - 1);
    expect(await verdict(await first.token())).toBe("accepted");
    expect(asked()).toBe(1);
    pass(1);
    for (let turn = 0; turn < 3; turn += 1) expect(await verdict(await first.token())).toBe("accepted");
    await issuer.whenAsked("/jwks", 2);
    gate.release();
    await whenEmitted("rotated");
    expect(await verdict(await second.token())).toBe("accepted");
    expect(asked()).toBe(2);
    expect(await verdict(await first.token())).toBe("key");
  });

  it("ends the use of a withdrawn key during a background fetch too, for which tokens then wait", async () => {
    const { verdict, pass } = createRemote({ jwksUri });
    await verdict(await first.token());
    const gate = behave.held(behave.json(setOf(second)));
    issuer.answer("/jwks", gate);
    pass(REFRESH);
    expect(await verdict(await first.token())).toBe("accepted");
    pass(MAX_AGE - REFRESH);
    const waiting = verdict(await first.token());
    await issuer.whenAsked("/jwks", 2);
    gate.release();
    expect(await waiting).toBe("key");
    expect(asked()).toBe(2);
  });

  it("counts from the request, not from the response", async () => {
    const gate = behave.held(behave.json(setOf(first)));
    issuer.answer("/jwks", gate);
    const { verdict, pass } = createRemote({ jwksUri });
    const waiting = verdict(await first.token());
    await issuer.whenAsked("/jwks", 1);
    pass(4_000);
    publish(second);
    gate.release();
    expect(await waiting).toBe("accepted");
    pass(MAX_AGE - 4_000);
    expect(await verdict(await first.token())).toBe("key");
  });

  it("follows the maxAgeMs option even if the cooldown is longer", async () => {
    const { verdict, pass, whenEmitted } = createRemote({ jwksUri, maxAgeMs: 1_000 });
    await verdict(await first.token());
    pass(750);
    expect(await verdict(await first.token())).toBe("accepted");
    await whenEmitted("fetched", 2);
    publish(second);
    pass(1_000);
    expect(await verdict(await first.token())).toBe("key");
  });

  it("does not keep withdrawn keys when the clock is set back", async () => {
    const { verdict, pass } = createRemote({ jwksUri });
    await verdict(await first.token());
    publish(second);
    pass(-86_400_000);
    expect(await verdict(await first.token())).toBe("key");
  });
});

describe("a rotation", () => {
  it("emits no event when only the order of the keys changes", async () => {
    publish(first, second);
    const { verdict, pass, types } = createRemote({ jwksUri });
    await verdict(await first.token());
    publish(second, first);
    pass(MAX_AGE);
    await verdict(await first.token());
    expect(types()).toEqual(["fetched", "fetched"]);
  });
});

describe.each<readonly [string, object]>([
  ["without keys", { keys: [] }],
  ["without a key for the algorithm", setOf(createIssuer({ algorithm: "ES256" }))],
  ["with only weak keys", { keys: [{ ...first.publicJwk, e: "AQ" }] }],
])("a set %s", (_, useless) => {
  it("keeps the previous keys in use for staleMs, then makes the keys unavailable", async () => {
    const { server, verdict, pass, events } = createRemote({ jwksUri });
    await verdict(await first.token());
    issuer.answer("/jwks", behave.json(useless));
    pass(MAX_AGE);
    expect(await verdict(await first.token())).toBe("accepted");
    expect(await verdict(await first.token({}, { kid: undefined }))).toBe("accepted");
    expect(await verdict(await second.token())).toBe("unavailable");
    expect(events.map(({ type }) => type)).toEqual(["fetched", "failed", "stale"]);
    expect(events[1]?.message).toMatch(/jwks has no usable keys\. .*There is no key for RS256\.$/);
    pass(STALE);
    expect(await verdict(await first.token())).toBe("unavailable");
    await expect(server.ready()).rejects.toThrow(`${jwksUri} has no usable keys.`);
    publish(second);
    pass(COOLDOWN);
    expect(await verdict(await second.token())).toBe("accepted");
    expect(await verdict(await first.token())).toBe("key");
  });
});
