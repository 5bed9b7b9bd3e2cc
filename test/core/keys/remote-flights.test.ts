/** How often tokens can cause requests to the issuer. */
import { describe, expect, it } from "vitest";
import { behave } from "../../support/fault-server.ts";
import { createIssuer } from "../../support/issuer.ts";
import { COOLDOWN, createRemote, MAX_AGE, RETRY, setOf, withKid } from "../../support/remote-keys.ts";
import { asked, first, issuer, jwksUri, publish, second, useKeyIssuer } from "../../support/key-issuer.ts";

useKeyIssuer();
const unknownKids = async (count: number) => {
  const token = await first.token();
  return [...Array(count).keys()].map((index) => withKid(token, `unknown-${index}`));
};

describe("concurrent tokens", () => {
  it("share one fetch of the keys", async () => {
    const gate = behave.held(behave.json(setOf(first)));
    issuer.answer("/jwks", gate);
    const { server, verdict } = createRemote({ jwksUri });
    const [token, unknown] = [await first.token(), await second.token()];
    const early = [...Array(50).keys()].map(() => verdict(token));
    const ready = server.ready();
    await issuer.whenAsked("/jwks", 1);
    const late = [verdict(token), verdict(unknown), server.ready()];
    gate.release();
    expect(new Set(await Promise.all(early))).toEqual(new Set(["accepted"]));
    expect(await Promise.all([ready, ...late])).toEqual([undefined, "accepted", "key", undefined]);
    expect(asked()).toBe(1);
  });

  it("do not wait for the fetch of an unknown kid if their own key is loaded", async () => {
    const { verdict, pass } = createRemote({ jwksUri });
    await verdict(await first.token());
    const gate = behave.held(behave.json(setOf(first, second)));
    issuer.answer("/jwks", gate);
    pass(COOLDOWN);
    const waiting = verdict(await second.token());
    await issuer.whenAsked("/jwks", 2);
    expect(await verdict(await first.token())).toBe("accepted");
    expect(await verdict(await first.token({}, { kid: undefined }))).toBe("accepted");
    gate.release();
    expect(await waiting).toBe("accepted");
    expect(asked()).toBe(2);
  });
});

describe("the fetch for an unknown kid", () => {
  it.each([
    ["cooldown when the issuer responds", "key", COOLDOWN, () => publish(first)],
    [
      "second after the issuer failed",
      "unavailable",
      RETRY,
      () => issuer.answer("/jwks", behave.status(500)),
    ],
  ])("sends one request per %s", async (_, expected, cooldown, answer) => {
    const { verdict, pass } = createRemote({ jwksUri });
    await verdict(await first.token());
    answer();
    pass(COOLDOWN);
    const tokens = await unknownKids(100);
    for (const token of tokens) expect(await verdict(token)).toBe(expected);
    pass(cooldown - 1);
    for (const token of tokens) expect(await verdict(token)).toBe(expected);
    expect(asked()).toBe(2);
    pass(1);
    for (const token of tokens) expect(await verdict(token)).toBe(expected);
    expect(asked()).toBe(3);
    expect(await verdict(await first.token())).toBe("accepted");
  });

  it("sends at most one more request just after a regular fetch", async () => {
    const { verdict, pass } = createRemote({ jwksUri });
    for (const token of await unknownKids(20)) expect(await verdict(token)).toBe("key");
    expect(asked()).toBe(1);
    pass(MAX_AGE);
    await verdict(await first.token());
    for (const token of await unknownKids(20)) expect(await verdict(token)).toBe("key");
    expect(asked()).toBe(3);
  });

  it("follows the cooldownMs option", async () => {
    const { verdict, pass } = createRemote({ jwksUri, cooldownMs: 1_000 });
    await verdict(await first.token());
    expect(await verdict(await second.token())).toBe("key");
    publish(first, second);
    pass(999);
    expect(await verdict(await second.token())).toBe("key");
    pass(1);
    expect(await verdict(await second.token())).toBe("accepted");
  });

  it("sends no request for a kid if no key of the set has one", async () => {
    const { kid, ...bare } = first.publicJwk;
    issuer.answer("/jwks", behave.json({ keys: [bare] }));
    const { verdict, pass } = createRemote({ jwksUri });
    const token = await first.token({}, { kid: "any" });
    expect(await verdict(token)).toBe("accepted");
    pass(COOLDOWN);
    expect(await verdict(token)).toBe("accepted");
    expect(asked()).toBe(1);
  });

  it("sends a request before it tries a key without a kid in a mixed set", async () => {
    const { kid, ...bare } = second.publicJwk;
    issuer.answer("/jwks", behave.json({ keys: [first.publicJwk, bare] }));
    const { verdict, pass } = createRemote({ jwksUri }, { tokenCache: false });
    expect(await verdict(await second.token())).toBe("accepted");
    pass(COOLDOWN);
    expect(await verdict(await second.token())).toBe("accepted");
    expect(asked()).toBe(2);
  });

  it.each([undefined, "first"])("sends one request per cooldown when the set is empty: %j", async (kid) => {
    publish();
    const { verdict, pass } = createRemote({ jwksUri });
    const token = await first.token({}, { kid });
    for (let turn = 0; turn < 2; turn += 1) expect(await verdict(token)).toBe("unavailable");
    pass(COOLDOWN);
    issuer.answer("/jwks", behave.status(500));
    for (let turn = 0; turn < 2; turn += 1) expect(await verdict(token)).toBe("unavailable");
    pass(COOLDOWN);
    publish(first);
    expect(await verdict(token)).toBe("accepted");
    expect(asked()).toBe(3);
  });

  it("sends a request for the kid of a key for another algorithm", async () => {
    const elliptic = createIssuer({ algorithm: "ES256", kid: "first" });
    const { verdict } = createRemote({ jwksUri }, { algorithms: ["RS256", "ES256"] });
    expect(await verdict(await elliptic.token())).toBe("key");
    expect(await verdict(await first.token())).toBe("accepted");
  });
});

describe("the fetch after a bad signature", () => {
  const reused = { publicJwk: { ...second.publicJwk, kid: "first" } };
  const newToken = () => second.token({}, { kid: "first" });

  it("accepts a new key with the kid of an old one, and rejects the old key", async () => {
    const { verdict, types } = createRemote({ jwksUri });
    await verdict(await first.token());
    publish(reused);
    expect(await verdict(await newToken())).toBe("accepted");
    expect(await verdict(await first.token())).toBe("signature");
    expect([asked(), types()]).toEqual([2, ["fetched", "fetched", "rotated"]]);
  });

  it("accepts a new key without a kid", async () => {
    const bare = ({ publicJwk: { kid, ...jwk } }: typeof first) => ({ publicJwk: jwk });
    publish(bare(first));
    const { verdict } = createRemote({ jwksUri });
    await verdict(await first.token());
    publish(bare(second));
    expect(await verdict(await second.token({}, { kid: undefined }))).toBe("accepted");
  });

  it("sends one request per cooldown for a thousand bad signatures, together with unknown kids", async () => {
    const { verdict, pass } = createRemote({ jwksUri });
    await verdict(await first.token());
    const bad = withKid(await second.token(), "first");
    const unknown = await unknownKids(10);
    for (const count of [2, 3]) {
      const verdicts = await Promise.all([...Array(1_000).keys()].map(() => verdict(bad)));
      expect(new Set(verdicts)).toEqual(new Set(["signature"]));
      for (const token of unknown) expect(await verdict(token)).toBe("key");
      pass(COOLDOWN - 1);
      expect(await verdict(bad)).toBe("signature");
      expect(asked()).toBe(count);
      pass(1);
    }
  });

  it("rejects the token if the issuer fails, and keeps the keys", async () => {
    const { verdict } = createRemote({ jwksUri });
    await verdict(await first.token());
    issuer.answer("/jwks", behave.status(500));
    expect(await verdict(await newToken())).toBe("signature");
    expect(await verdict(await first.token())).toBe("accepted");
    expect(asked()).toBe(2);
  });

  it("does not happen for a token that is expired or meant for another service", async () => {
    const { verdict } = createRemote({ jwksUri });
    expect(await verdict(await first.token({ exp: 1 }))).toBe("expired");
    expect(await verdict(await first.token({ aud: "other" }))).toBe("audience");
    expect(asked()).toBe(1);
  });
});
