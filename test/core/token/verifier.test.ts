import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { createIssuer } from "../../support/issuer.ts";
import { signRaw } from "../../support/raw-token.ts";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { KeyQuery, KeyResolver } from "../../../src/core/keys/verification-key.ts";
import { readJwt } from "../../../src/core/token/jwt-parts.ts";
import { createTokenVerifier, type TokenRules } from "../../../src/core/token/verifier.ts";
import { createVerifier, resolverOf } from "../../support/verifier.ts";

const server = createServer();
const stranger = createIssuer({ kid: "stranger" });
const PAYLOAD = '{"scopes":[],"aud":"agents-prod","sub":"user-1"}';

const signed = (header: object, key: KeyObject = issuer.privateKey, payload = PAYLOAD) =>
  signRaw(JSON.stringify(header), payload, key);

/** The verdict on a token with these claims, by a server with these options. */
const verdictOn = async (
  claims: Readonly<Record<string, unknown>>,
  options: Parameters<typeof createServer>[0] = {},
) => verdictOf(createServer(options), await issuer.token(claims));

// `test/security/tokens` has the hostile tokens: these tests have what its tables cannot say.

describe("the signature of a token", () => {
  it("covers the payload", async () => {
    const [header, , signature] = (await issuer.token()).split(".");
    const [, payload] = (await issuer.token({ scopes: ["platform:admin"] })).split(".");
    expect(await verdictOf(server, [header, payload, signature].join("."))).toBe("signature");
  });

  it("verifies the signature before the claims, so that a forged token reveals nothing about the expected claims", async () => {
    const claims = { aud: "other", exp: NOW - 1, scopes: undefined };
    expect(await verdictOf(server, await stranger.token(claims))).toBe("signature");
  });
});

describe("a key in the header of a token", () => {
  it.each([
    ["jku", { jku: "https://stranger.example/jwks.json", kid: "stranger" }],
    ["x5u", { x5u: "https://stranger.example/cert.pem" }],
    ["kid that is a URL", { kid: "https://stranger.example/jwks.json" }],
  ])("does not fetch it: %s", async (_, header) => {
    const fetch = vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("Nobody fetches."));
    const forged = signed({ alg: "RS256", typ: "JWT", ...header }, stranger.privateKey);
    expect(await verdictOf(server, forged)).toBe("signature");
    const named = createServer({ keys: { jwks: { keys: [{ ...issuer.publicJwk, kid: "own" }] } } });
    expect(await verdictOf(named, forged)).toMatch(/^(key|signature)$/);
    expect(fetch).not.toHaveBeenCalled();
    fetch.mockRestore();
  });
});

describe("exp", () => {
  it("compares whole seconds, so that a token expires when the second of its exp starts", async () => {
    for (const [milliseconds, verdict] of [
      [NOW * 1000 - 1, "accepted"],
      [NOW * 1000, "expired"],
      [NOW * 1000 + 999, "expired"],
    ] as const) {
      expect(await verdictOn({ exp: NOW }, { now: () => milliseconds })).toBe(verdict);
    }
  });
});

describe("iat", () => {
  it.each([
    [NOW - 70, 10, "accepted"],
    [NOW - 71, 10, "expired"],
    [NOW + 10, 10, "accepted"],
    [NOW + 11, 10, "not_yet_valid"],
  ])(
    "returns for %j, a clock tolerance of %d seconds and maxTokenAgeSeconds 60: %s",
    async (iat, tolerance, verdict) => {
      const options = { maxTokenAgeSeconds: 60, clockToleranceSeconds: tolerance };
      expect(await verdictOn({ iat }, options)).toBe(verdict);
    },
  );

  it("limits the age only with maxTokenAgeSeconds, which can be zero", async () => {
    expect(await verdictOn({ iat: 0 })).toBe("accepted");
    expect(await verdictOn({ iat: NOW }, { maxTokenAgeSeconds: 0 })).toBe("accepted");
    expect(await verdictOn({ iat: NOW - 1 }, { maxTokenAgeSeconds: 0 })).toBe("expired");
  });

  it("does not extend the lifetime of a token", async () => {
    expect(await verdictOn({ iat: NOW, exp: NOW }, { maxTokenAgeSeconds: 60 })).toBe("expired");
  });
});

describe("the now option", () => {
  it.each([Number.NaN, 9e15, "1700000000000"])("rejects every token if it returns %j", async (time) => {
    const broken = createServer({ now: () => time as number });
    const token = await issuer.token({ exp: NOW + 1000 });
    const message = "The `now` option must return milliseconds since the epoch.";
    await expect(broken.authenticate(token)).rejects.toThrow(message);
    const request = { method: "GET", target: "/agents", authorization: `Bearer ${token}` };
    await expect(broken.check(request)).rejects.toThrow(message);
  });

  it("provides the time for every token", async () => {
    let time = NOW * 1000;
    const moving = createServer({ now: () => time });
    const token = await issuer.token({ exp: NOW + 1 });
    expect(await verdictOf(moving, token)).toBe("accepted");
    time += 1000;
    expect(await verdictOf(moving, token)).toBe("expired");
  });
});

describe("typ", () => {
  it.each([
    ["application/jwt", "accepted"],
    ["", "type"],
    ["dpop+jwt", "type"],
    ["JWT ", "type"],
    ["text/at+jwt", "type"],
    ["application/application/jwt", "type"],
    ["application/", "type"],
    ["__proto__", "type"],
  ])("returns for %j by default: %s (RFC 8725 section 3.11)", async (typ, verdict) => {
    expect(await verdictOf(server, await issuer.token({}, { typ }))).toBe(verdict);
  });

  it.each([
    ["at+jwt", "accepted"],
    ["application/AT+jwt", "accepted"],
    ["JWT", "type"],
    [undefined, "type"],
  ])("returns for %j if only access tokens are accepted: %s (RFC 9068 section 2.1)", async (typ, verdict) => {
    const strict = createServer({ tokenTypes: ["application/at+jwt"] });
    expect(await verdictOf(strict, await issuer.token({}, { typ }))).toBe(verdict);
  });

  it.each([
    ["vnd/jwt", "application/vnd/jwt"],
    ["vndjwt", "vndapplication/jwt"],
  ])(
    "treats %s and %s as different: `application/` may be omitted only at the start of a simple type",
    async (type, typ) => {
      const strict = createServer({ tokenTypes: [type] });
      expect(await verdictOf(strict, await issuer.token({}, { typ: type }))).toBe("accepted");
      expect(await verdictOf(strict, await issuer.token({}, { typ }))).toBe("type");
    },
  );

  it("rejects every typ if only null is configured", async () => {
    const untyped = createServer({ tokenTypes: [null] });
    expect(await verdictOf(untyped, await issuer.token({}, { typ: undefined }))).toBe("accepted");
    expect(await verdictOf(untyped, await issuer.token())).toBe("type");
  });
});

describe("a polluted prototype", () => {
  /** Runs with a property on Object.prototype, as after a prototype pollution. */
  async function polluted<T>(members: Readonly<Record<string, unknown>>, run: () => Promise<T>): Promise<T> {
    const prototype = Object.prototype as Record<string, unknown>;
    for (const [name, value] of Object.entries(members))
      Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
    try {
      return await run();
    } finally {
      for (const name of Object.keys(members)) Reflect.deleteProperty(prototype, name);
    }
  }

  it("sets no key id", async () => {
    const jwks = {
      keys: [
        { ...stranger.publicJwk, kid: "stranger" },
        { ...issuer.publicJwk, kid: "own" },
      ],
    };
    const named = createServer({ keys: { jwks } });
    const token = await stranger.token({}, { kid: "own" });
    expect(await polluted({ kid: "stranger" }, () => verdictOf(named, token))).toBe("signature");
  });

  it("sets no user, no session and no scope", async () => {
    const token = await issuer.token({ sub: undefined });
    const members = { sub: "root", session_id: "s", jti: "t", userId: "root", sessionId: "s", exp: NOW + 9 };
    const principal = await polluted(members, () => server.authenticate(token));
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

  it.each<readonly [string, KeyResolver["find"]]>([
    [
      "throws",
      () => {
        throw new Error("The file server is away.");
      },
    ],
    ["rejects", () => Promise.reject(new Error("The file server is away."))],
  ])("returns unavailable, not rejected, if the key source %s", async (_, find) => {
    const verify = createVerifier(rules, find);
    expect(await verify(await issuer.token())).toEqual({
      kind: "unavailable",
      cause: new Error("The file server is away."),
    });
  });

  it.each<readonly [string, KeyResolver["retryAfterSeconds"], number | undefined]>([
    ["the key source knows it", () => 17, 17],
    [
      "the key source does not know it",
      () => {
        throw new Error("It is not known.");
      },
      undefined,
    ],
    ["the key source never knows it", undefined, undefined],
  ])("returns when the keys may be available if %s", async (_, retryAfterSeconds, expected) => {
    const find = () => Promise.reject(new Error("The issuer is away."));
    const verify = createVerifier(rules, find, retryAfterSeconds ? { retryAfterSeconds } : {});
    expect(await verify(await issuer.token())).toEqual({
      kind: "unavailable",
      cause: new Error("The issuer is away."),
      retryAfterSeconds: expected,
    });
  });

  it("returns unavailable, not rejected, if a key cannot be imported", async () => {
    const cause = new Error("The import timed out.");
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
    expect(await verify(await issuer.token({}, { kid: "a" }))).toEqual({
      kind: "rejected",
      rejection: "key",
    });
    expect(find.mock.calls).toEqual([[{ algorithm: "RS256", kid: "a" }]]);
  });

  const keysOf =
    (...keys: readonly KeyObject[]): KeyResolver["find"] =>
    () =>
      keys.map((key) => ({ algorithms: new Set(["RS256"] as const), material: () => key }));

  it.each([
    ["first", [issuer.publicKey, stranger.publicKey]],
    ["last", [stranger.publicKey, issuer.publicKey]],
  ])("tries each key until one verifies the signature: the right key is %s", async (_, keys) => {
    const verify = createVerifier(rules, keysOf(...keys));
    expect(await verify(await issuer.token())).toMatchObject({ kind: "verified" });
    // A rejection for the claims of a verified signature is final.
    expect(await verify(await issuer.token({ exp: 1 }))).toEqual({ kind: "rejected", rejection: "expired" });
    const unknown = createIssuer({ kid: "unknown" });
    expect(await verify(await unknown.token())).toEqual({ kind: "rejected", rejection: "signature" });
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
      expect(await verify(await issuer.token({ exp: 1 }))).toEqual({
        kind: "rejected",
        rejection: "expired",
      });
    });

    it.each([
      ["do not match it either", newer(stranger.publicKey)],
      ["do not exist", newer()],
      ["are never known", {}],
    ])("rejects the token if newer keys %s", async (_, more) => {
      const verify = createVerifier(rules, keysOf(stranger.publicKey), more);
      expect(await verify(await issuer.token())).toEqual({ kind: "rejected", rejection: "signature" });
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
    expect(await verify(await issuer.token())).toEqual({ kind: "rejected", rejection: "key" });
  });

  it("rejects a token whose signature has another algorithm than its header", async () => {
    const read = readJwt(await issuer.token());
    const other = createIssuer({ algorithm: "PS256" });
    if (read.kind === "rejected") throw new Error(read.rejection);
    const verify = createTokenVerifier(rules, resolverOf(keysOf(other.publicKey)));
    expect(await verify({ ...read.jwt, encoded: await other.token() })).toEqual({
      kind: "rejected",
      rejection: "algorithm",
    });
  });

  it("returns the missing or invalid claim", async () => {
    const verify = createVerifier({ ...rules, requiredClaims: ["exp"] }, keysOf(issuer.publicKey));
    for (const claims of [{}, { exp: "never" }]) {
      expect(await verify(await issuer.token(claims))).toEqual({
        kind: "rejected",
        rejection: "claims",
        claim: "exp",
      });
    }
  });

  it("returns the claims of a verified token, without its header", async () => {
    const find = () => [{ algorithms: new Set(["RS256"] as const), material: () => issuer.publicKey }];
    const verify = createVerifier(rules, find);
    expect(await verify(await issuer.token({ tenant: { id: 7 } }))).toMatchObject({
      kind: "verified",
      claims: { scopes: [], aud: "agents-prod", sub: "user-1", tenant: { id: 7 } },
    });
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

  it("returns the key that verified a token", async () => {
    const keys = [stranger, issuer].map(({ publicKey }) => ({
      algorithms: new Set(["RS256"] as const),
      material: () => publicKey,
    }));
    const verification = await createVerifier(rules, () => keys)(await issuer.token());
    expect(verification.kind === "verified" && verification.key).toBe(keys[1]);
  });
});
