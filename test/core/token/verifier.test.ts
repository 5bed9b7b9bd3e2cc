import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { createIssuer } from "../../support/issuer.ts";
import { signRaw } from "../../support/raw-token.ts";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { KeyQuery, KeyResolver } from "../../../src/core/keys/verification-key.ts";
import { readJwt } from "../../../src/core/token/jwt-parts.ts";
import { createTokenVerifier, type TokenRules } from "../../../src/core/token/verifier.ts";
import { createVerifier, resolverOf } from "../../support/verifier.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const server = createServer();
const stranger = createIssuer({ kid: "stranger" });
const PAYLOAD = '{"scopes":[],"aud":"agents-prod","sub":"user-1"}';

const signed = (header: object, key: KeyObject = issuer.privateKey, payload = PAYLOAD) =>
  signRaw(JSON.stringify(header), payload, key);

// `test/security/tokens` has the hostile tokens: these tests have what its tables cannot say.

it("verifies the signature before the claims, so that a forged token reveals nothing about the expected claims", async () => {
  const claims = { aud: "other", exp: NOW - 1, scopes: undefined };
  expect(await verdictOf(server, await stranger.token(claims))).toBe("signature");
});

type Options = NonNullable<Parameters<typeof createServer>[0]>;
const AGE: Options = { maxTokenAgeSeconds: 60, clockToleranceSeconds: 10 };
const at = (milliseconds: number): Options => ({ now: () => NOW * 1000 + milliseconds });

it.each<readonly [string, object, Options, string]>([
  ["before the second of its exp", { exp: NOW }, at(-1), "accepted"],
  ["at the start of the second of its exp", { exp: NOW }, at(0), "expired"],
  ["at the end of the second of its exp", { exp: NOW }, at(999), "expired"],
  ["at its maximum age with the tolerance", { iat: NOW - 70 }, AGE, "accepted"],
  ["after its maximum age with the tolerance", { iat: NOW - 71 }, AGE, "expired"],
  ["issued in the future with the tolerance", { iat: NOW + 10 }, AGE, "accepted"],
  ["issued after the tolerance", { iat: NOW + 11 }, AGE, "not_yet_valid"],
  ["of any age without a maximum", { iat: 0 }, {}, "accepted"],
  ["of the age zero", { iat: NOW }, { maxTokenAgeSeconds: 0 }, "accepted"],
  ["older than zero", { iat: NOW - 1 }, { maxTokenAgeSeconds: 0 }, "expired"],
  ["after its exp, whatever its age", { iat: NOW, exp: NOW }, { maxTokenAgeSeconds: 60 }, "expired"],
])("judges a token %s", async (_, claims, options, verdict) => {
  expect(await verdictOf(createServer(options), await issuer.token({ ...claims }))).toBe(verdict);
});

it.each([Number.NaN, 9e15, "1700000000000"])("rejects every token if `now` returns %j", async (time) => {
  const broken = createServer({ now: () => time as number });
  const token = await issuer.token({ exp: NOW + 1000 });
  const message = "The `now` option must return milliseconds since the epoch.";
  await expect(broken.authenticate(token)).rejects.toThrow(message);
  const request = { method: "GET", target: "/agents", authorization: `Bearer ${token}` };
  await expect(broken.check(request)).rejects.toThrow(message);
});

it.each<readonly [string | undefined, Options["tokenTypes"], string]>([
  ["application/jwt", undefined, "accepted"],
  ["", undefined, "type"],
  ["dpop+jwt", undefined, "type"],
  ["JWT ", undefined, "type"],
  ["text/at+jwt", undefined, "type"],
  ["application/application/jwt", undefined, "type"],
  ["application/", undefined, "type"],
  ["__proto__", undefined, "type"],
  ["at+jwt", ["application/at+jwt"], "accepted"],
  ["application/AT+jwt", ["application/at+jwt"], "accepted"],
  ["JWT", ["application/at+jwt"], "type"],
  [undefined, ["application/at+jwt"], "type"],
  // `application/` may be omitted only at the start of a type without a slash.
  ["vnd/jwt", ["vnd/jwt"], "accepted"],
  ["application/vnd/jwt", ["vnd/jwt"], "type"],
  ["vndapplication/jwt", ["vndjwt"], "type"],
  [undefined, [null], "accepted"],
  ["JWT", [null], "type"],
])("judges the typ %j with tokenTypes %j as %s (RFC 8725 section 3.11)", async (typ, tokenTypes, verdict) => {
  const typed = createServer(tokenTypes ? { tokenTypes } : {});
  expect(await verdictOf(typed, await issuer.token({}, { typ }))).toBe(verdict);
});

describe("a polluted prototype", () => {
  it("sets no key id", async () => {
    const jwks = {
      keys: [
        { ...stranger.publicJwk, kid: "stranger" },
        { ...issuer.publicJwk, kid: "own" },
      ],
    };
    const named = createServer({ keys: { jwks } });
    const token = await stranger.token({}, { kid: "own" });
    expect(await withPollution({ kid: "stranger" }, () => verdictOf(named, token))).toBe("signature");
  });

  it("sets no type of a token", async () => {
    const typed = createServer({ tokenTypes: ["at+jwt"] });
    const token = await issuer.token({}, { typ: undefined });
    expect(await withPollution({ typ: "at+jwt" }, () => verdictOf(typed, token))).toBe("type");
    expect(await withPollution({ type: "at+jwt" }, () => verdictOf(typed, token))).toBe("type");
  });

  it("sets no user, no session and no scope", async () => {
    const token = await issuer.token({ sub: undefined });
    const members = { sub: "root", session_id: "s", jti: "t", userId: "root", sessionId: "s", exp: NOW + 9 };
    const principal = await withPollution(members, () => server.authenticate(token));
    expect(principal).toMatchObject({ scopes: [], audience: ["agents-prod"] });
    expect(Object.keys(principal)).not.toContain("userId");
    expect(Object.keys(principal)).not.toContain("sessionId");
    expect(Object.keys(principal)).not.toContain("tokenId");
    expect(Object.keys(principal)).not.toContain("expiresAt");
    expect(principal.has("platform:admin")).toBe(false);
  });
});

describe("createTokenVerifier", () => {
  const rules: TokenRules = {
    algorithms: ["RS256"],
    issuer: undefined,
    audience: ["agents-prod"],
    requiredClaims: [],
    tokenTypes: ["JWT"],
    clockToleranceSeconds: 0,
    maxTokenAgeSeconds: undefined,
    now: () => NOW * 1000,
  };

  const rejected = (rejection: string) => ({ kind: "rejected", rejection });
  const cause = new Error("The issuer is away.");
  const failing = {
    throws: () => {
      throw cause;
    },
    rejects: () => Promise.reject(cause),
  };

  it.each<readonly [string, KeyResolver["find"], KeyResolver["retryAfterSeconds"], object]>([
    ["throws", failing.throws, undefined, {}],
    ["rejects", failing.rejects, undefined, {}],
    ["knows when it may be available", failing.rejects, () => 17, { retryAfterSeconds: 17 }],
    ["fails to say when it may be available", failing.rejects, failing.throws, {}],
  ])(
    "returns unavailable, not rejected, if the key source %s",
    async (_, find, retryAfterSeconds, expected) => {
      const verify = createVerifier(rules, find, retryAfterSeconds ? { retryAfterSeconds } : {});
      expect(await verify(await issuer.token())).toEqual({ kind: "unavailable", cause, ...expected });
    },
  );

  it("returns unavailable, not rejected, if a key cannot be imported", async () => {
    const material = () => Promise.reject(cause);
    const find = () => [{ algorithms: new Set(["RS256"] as const), material }];
    expect(await createVerifier(rules, find)(await issuer.token())).toEqual({ kind: "unavailable", cause });
  });

  it.each([
    ["an algorithm that is not allowed", signed({ alg: "none" }), "algorithm"],
    ["a type that is not accepted", signed({ alg: "RS256", typ: "id+jwt" }), "type"],
    ["no form", "a.b", "malformed"],
    ["too many bytes", "a".repeat(20_000), "too_large"],
  ])("does not look up a key for %s", async (_, token, rejection) => {
    const find = vi.fn<KeyResolver["find"]>(() => []);
    expect(await createVerifier(rules, find)(token)).toEqual({ kind: "rejected", rejection });
    expect(find).not.toHaveBeenCalled();
  });

  it("looks up a key by the algorithm and kid of the token, and rejects a token without a key", async () => {
    const find = vi.fn<KeyResolver["find"]>(() => []);
    const verify = createVerifier(rules, find);
    expect(await verify(await issuer.token({}, { kid: "a" }))).toEqual(rejected("key"));
    expect(find.mock.calls).toEqual([[{ algorithm: "RS256", kid: "a" }]]);
  });

  const keysOf =
    (...keys: readonly KeyObject[]): KeyResolver["find"] =>
    () =>
      keys.map((key) => ({ algorithms: new Set(["RS256"] as const), material: () => key }));

  it("tries each key until one verifies the signature, whose claims then decide", async () => {
    for (const keys of [
      [issuer.publicKey, stranger.publicKey],
      [stranger.publicKey, issuer.publicKey],
    ]) {
      const verify = createVerifier(rules, keysOf(...keys));
      expect(await verify(await issuer.token())).toMatchObject({ kind: "verified" });
      expect(await verify(await issuer.token({ exp: 1 }))).toEqual(rejected("expired"));
      const unknown = createIssuer({ kid: "unknown" });
      expect(await verify(await unknown.token())).toEqual(rejected("signature"));
    }
  });

  describe("if no key matches the signature", () => {
    const newer = (...keys: readonly KeyObject[]) => ({
      findNewer: vi.fn(async (query: KeyQuery) => keysOf(...keys)(query)),
    });

    it("tries the keys that replaced them under the same kid", async () => {
      const more = newer(issuer.publicKey);
      const verify = createVerifier(rules, keysOf(stranger.publicKey), more);
      expect(await verify(await issuer.token({}, { kid: "a" }))).toMatchObject({ kind: "verified" });
      expect(more.findNewer.mock.calls).toEqual([[{ algorithm: "RS256", kid: "a" }]]);
      expect(await verify(await issuer.token({ exp: 1 }))).toEqual(rejected("expired"));
    });

    it.each([
      ["do not match it either", newer(stranger.publicKey)],
      ["do not exist", newer()],
      ["are never known", {}],
    ])("rejects the token if newer keys %s", async (_, more) => {
      const verify = createVerifier(rules, keysOf(stranger.publicKey), more);
      expect(await verify(await issuer.token())).toEqual(rejected("signature"));
    });

    it("requests newer keys for no other reason", async () => {
      const more = newer(issuer.publicKey);
      const verify = createVerifier(rules, keysOf(issuer.publicKey), more);
      expect(await verify(await issuer.token())).toMatchObject({ kind: "verified" });
      expect(await verify(await issuer.token({ exp: 1 }))).toMatchObject({ rejection: "expired" });
      expect(await verify(await issuer.token({ aud: "other" }))).toMatchObject({ rejection: "audience" });
      const none = createVerifier(rules, () => [], more);
      expect(await none(await issuer.token())).toMatchObject({ rejection: "key" });
      expect(more.findNewer).not.toHaveBeenCalled();
    });
  });

  it("rejects a token if its key cannot be used", async () => {
    const verify = createVerifier(rules, keysOf(createSecretKey(randomBytes(32))));
    expect(await verify(await issuer.token())).toEqual(rejected("key"));
  });

  it("rejects a token whose signature has another algorithm than its header", async () => {
    const read = readJwt(await issuer.token());
    const other = createIssuer({ algorithm: "PS256" });
    if (read.kind === "rejected") throw new Error(read.rejection);
    const verify = createTokenVerifier(rules, resolverOf(keysOf(other.publicKey)));
    expect(await verify({ ...read.jwt, encoded: await other.token() })).toEqual(rejected("algorithm"));
  });

  it.each([{}, { exp: "never" }])("returns the claim that is missing or invalid in %j", async (claims) => {
    const verify = createVerifier({ ...rules, requiredClaims: ["exp"] }, keysOf(issuer.publicKey));
    expect(await verify(await issuer.token(claims))).toEqual({ ...rejected("claims"), claim: "exp" });
  });

  it("returns the claims of a verified token, and the key that verified it", async () => {
    const keys = [stranger, issuer].map(({ publicKey }) => ({
      algorithms: new Set(["RS256"] as const),
      material: () => publicKey,
    }));
    const verification = await createVerifier(rules, () => keys)(await issuer.token({ tenant: { id: 7 } }));
    expect(verification).toMatchObject({
      kind: "verified",
      claims: { scopes: [], aud: "agents-prod", sub: "user-1", tenant: { id: 7 } },
    });
    expect(verification.kind === "verified" && verification.key).toBe(keys[1]);
  });

  it.each([
    [{}, undefined, Infinity],
    [{ exp: NOW + 5 }, undefined, NOW + 5],
    [{ exp: NOW + 5, iat: NOW - 1 }, undefined, NOW + 5],
    [{ exp: NOW + 5, iat: NOW - 1 }, 2, NOW + 1],
    [{ iat: NOW - 1 }, 60, NOW + 59],
  ])("returns when a token with %j and maxTokenAgeSeconds %j ends: %d", async (claims, maxAge, end) => {
    const verify = createVerifier({ ...rules, maxTokenAgeSeconds: maxAge }, keysOf(issuer.publicKey));
    expect(await verify(await issuer.token(claims))).toMatchObject({
      kind: "verified",
      endsAt: end * 1000,
    });
  });
});
