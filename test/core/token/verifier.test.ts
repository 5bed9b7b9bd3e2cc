import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Algorithm } from "scopegate";
import { createIssuer, type IssuerAlgorithm } from "../../support/issuer.ts";
import { signRaw } from "../../support/raw-token.ts";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { KeyQuery, KeyResolver } from "../../../src/core/keys/verification-key.ts";
import { readJwt } from "../../../src/core/token/jwt-parts.ts";
import { createTokenVerifier, type TokenRules } from "../../../src/core/token/verifier.ts";
import { createVerifier } from "../../support/verifier.ts";

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

describe("the algorithm of a token", () => {
  const asymmetric: readonly IssuerAlgorithm[] = [
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
  ];

  it.each(asymmetric)("accepts the allowed algorithm %s", async (algorithm) => {
    const own = createIssuer({ algorithm });
    const options = { algorithm, verificationKeys: [own.publicPem] };
    expect(await verdictOf(createServer(options), await own.token())).toBe("accepted");
  });

  it.each(asymmetric)(
    "rejects %s if it is not allowed, even if the key could verify it",
    async (algorithm) => {
      const own = createIssuer({ algorithm });
      const others: Partial<Record<IssuerAlgorithm, IssuerAlgorithm>> = {
        EdDSA: "Ed25519",
        Ed25519: "EdDSA",
      };
      const other =
        others[algorithm] ??
        (algorithm.startsWith("ES") ? "RS256" : algorithm === "RS256" ? "PS256" : "RS256");
      const key = algorithm.startsWith("ES") ? issuer.publicPem : own.publicPem;
      const options = { algorithm: other, verificationKeys: [key] };
      expect(await verdictOf(createServer(options), await own.token())).toBe("algorithm");
    },
  );

  it.each(["none", "None", "NONE", "nOnE", "NoNe", "none ", " none", "nonE", "", "n\u043ene", "null"])(
    "rejects %j, with or without a signature (RFC 8725 section 2.1)",
    async (alg) => {
      const unsigned = signed({ alg, typ: "JWT" }).split(".").slice(0, 2).join(".");
      expect(await verdictOf(server, `${unsigned}.`)).toBe("algorithm");
      expect(await verdictOf(server, signed({ alg, typ: "JWT" }))).toBe("algorithm");
      expect(await verdictOf(server, unsigned)).toBe("malformed");
    },
  );

  it.each([
    "rs256",
    "Rs256",
    "RS256 ",
    " RS256",
    "RS-256",
    "RS2560",
    "RS256\0",
    "RSA256",
    "SHA256",
    "HMAC",
    "__proto__",
  ])("rejects %j, because the comparison is exact", async (alg) => {
    expect(await verdictOf(server, signed({ alg }))).toBe("algorithm");
  });

  it.each<readonly [string, string]>([
    ["as it is", issuer.publicPem],
    ["without the line break at its end", issuer.publicPem.trim()],
    ["with literal line breaks", issuer.publicPem.replaceAll("\n", "\\n")],
    ["without its frame", issuer.publicPem.replaceAll(/-----[^-]+-----|\n/g, "")],
    ["as PKCS#1", issuer.publicKey.export({ type: "pkcs1", format: "pem" }).toString()],
    ["as JWK", JSON.stringify(issuer.publicKey.export({ format: "jwk" }))],
  ])("rejects an HMAC with the public key %s as secret (RFC 8725 section 2.1)", async (_, text) => {
    const secret = createSecretKey(text, "utf8");
    expect(await verdictOf(server, signed({ alg: "HS256", typ: "JWT" }, secret))).toBe("algorithm");
    expect(await verdictOf(server, signed({ alg: "RS256", typ: "JWT" }, secret))).toBe("signature");
  });

  it("rejects an HMAC with the bytes of the public key as secret", async () => {
    const secret = createSecretKey(issuer.publicKey.export({ type: "spki", format: "der" }));
    expect(await verdictOf(server, signed({ alg: "HS256" }, secret))).toBe("algorithm");
  });

  it("rejects a signature of another algorithm", async () => {
    const both = createServer({ algorithms: ["RS256", "PS256", "RS512"] });
    for (const alg of ["PS256", "RS512"]) expect(await verdictOf(both, signed({ alg }))).toBe("signature");
    expect(await verdictOf(both, signed({ alg: "RS256" }))).toBe("accepted");
  });

  it("accepts several algorithms, each with its own keys", async () => {
    const algorithms: readonly Algorithm[] = ["RS256", "ES256", "EdDSA"];
    const issuers = [issuer, createIssuer({ algorithm: "ES256" }), createIssuer({ algorithm: "EdDSA" })];
    const mixed = createServer({ algorithms, verificationKeys: issuers.map(({ publicPem }) => publicPem) });
    for (const { token } of issuers) expect(await verdictOf(mixed, await token())).toBe("accepted");
    const es384 = await createIssuer({ algorithm: "ES384" }).token();
    expect(await verdictOf(mixed, es384)).toBe("algorithm");
  });
});

describe("the signature of a token", () => {
  it("covers the payload", async () => {
    const [header, , signature] = (await issuer.token()).split(".");
    const [, payload] = (await issuer.token({ scopes: ["platform:admin"] })).split(".");
    expect(await verdictOf(server, [header, payload, signature].join("."))).toBe("signature");
  });

  it("covers the header", async () => {
    const [, payload, signature] = (await issuer.token()).split(".");
    const [header] = (await issuer.token({}, { kid: "other" })).split(".");
    expect(await verdictOf(server, [header, payload, signature].join("."))).toBe("signature");
  });

  it.each([
    ["zeros", "A".repeat(342)],
    ["too few bytes", "AAAA"],
    ["one zero byte", "AA"],
    ["too many bytes", "A".repeat(400)],
  ])("rejects a signature that is %s", async (_, signature) => {
    const [header, payload] = (await issuer.token()).split(".");
    expect(await verdictOf(server, [header, payload, signature].join("."))).toBe("signature");
  });

  it("rejects a signature of zeros, for an elliptic curve", async () => {
    const own = createIssuer({ algorithm: "ES256" });
    const [header, payload] = (await own.token()).split(".");
    const options = createServer({ algorithm: "ES256", verificationKeys: [own.publicPem] });
    expect(await verdictOf(options, [header, payload, "A".repeat(86)].join("."))).toBe("signature");
  });

  it("rejects a signature of another issuer", async () => {
    expect(await verdictOf(server, await stranger.token({}, { kid: undefined }))).toBe("signature");
  });

  it("verifies the signature before the claims, so that a forged token reveals nothing about the expected claims", async () => {
    const claims = { aud: "other", exp: NOW - 1, scopes: undefined };
    expect(await verdictOf(server, await stranger.token(claims))).toBe("signature");
  });
});

describe("a key in the header of a token", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    ["jwk", { jwk: stranger.publicJwk }],
    ["jwk with a kid", { jwk: { ...stranger.publicJwk, kid: "stranger" }, kid: "stranger" }],
    ["jku", { jku: "https://stranger.example/jwks.json", kid: "stranger" }],
    ["x5u", { x5u: "https://stranger.example/cert.pem" }],
    ["x5c", { x5c: [stranger.publicKey.export({ type: "spki", format: "der" }).toString("base64")] }],
    ["kid that is a key", { kid: stranger.publicPem }],
    ["kid that is a path", { kid: "../../../../dev/null" }],
    ["kid that is a URL", { kid: "https://stranger.example/jwks.json" }],
  ])("verifies no token: %s", async (_, header) => {
    const fetch = vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("Nobody fetches."));
    const forged = signed({ alg: "RS256", typ: "JWT", ...header }, stranger.privateKey);
    expect(await verdictOf(server, forged)).toBe("signature");
    const named = createServer({ keys: { jwks: { keys: [{ ...issuer.publicJwk, kid: "own" }] } } });
    expect(await verdictOf(named, forged)).toMatch(/^(key|signature)$/);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("does not affect a token of the configured issuer", async () => {
    const token = await issuer.token({}, { jwk: stranger.publicJwk, jku: "https://stranger.example" });
    expect(await verdictOf(server, token)).toBe("accepted");
  });
});

describe("exp", () => {
  it.each([
    [NOW + 1, "accepted"],
    [NOW, "expired"],
    [NOW - 1, "expired"],
    [0, "expired"],
    [-1, "expired"],
    [-NOW, "expired"],
    [NOW + 1_000_000_000, "accepted"],
    [NOW + 0.5, "accepted"],
    [NOW - 0.5, "expired"],
  ])(`returns for %d at ${NOW}: %s`, async (exp, verdict) => {
    expect(await verdictOn({ exp })).toBe(verdict);
  });

  it("compares whole seconds, so that a token expires when the second of its exp starts", async () => {
    for (const [milliseconds, verdict] of [
      [NOW * 1000 - 1, "accepted"],
      [NOW * 1000, "expired"],
      [NOW * 1000 + 999, "expired"],
    ] as const) {
      expect(await verdictOn({ exp: NOW }, { now: () => milliseconds })).toBe(verdict);
    }
  });

  it.each([
    [NOW - 9, "accepted"],
    [NOW - 10, "expired"],
    [NOW - 11, "expired"],
  ])("returns for %d with a clock tolerance of ten seconds: %s", async (exp, verdict) => {
    expect(await verdictOn({ exp }, { clockToleranceSeconds: 10 })).toBe(verdict);
  });

  it("allows its absence unless requiredClaims contains it", async () => {
    expect(await verdictOn({})).toBe("accepted");
    expect(await verdictOn({}, { requiredClaims: ["exp"] })).toBe("claims");
    expect(await verdictOn({ exp: NOW + 1 }, { requiredClaims: ["exp"] })).toBe("accepted");
  });
});

describe("nbf", () => {
  it.each([
    [NOW, 0, "accepted"],
    [NOW + 1, 0, "not_yet_valid"],
    [NOW + 10, 10, "accepted"],
    [NOW + 11, 10, "not_yet_valid"],
    [0, 0, "accepted"],
  ])(
    "returns for %d with a clock tolerance of %d seconds: %s",
    async (nbf, clockToleranceSeconds, verdict) => {
      expect(await verdictOn({ nbf }, { clockToleranceSeconds })).toBe(verdict);
    },
  );
});

describe("iat", () => {
  it.each([
    [NOW - 60, 0, "accepted"],
    [NOW - 61, 0, "expired"],
    [NOW - 70, 10, "accepted"],
    [NOW - 71, 10, "expired"],
    [NOW, 0, "accepted"],
    [NOW + 1, 0, "not_yet_valid"],
    [NOW + 10, 10, "accepted"],
    [NOW + 11, 10, "not_yet_valid"],
    [undefined, 0, "claims"],
    ["1", 0, "claims"],
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

describe.each(["exp", "nbf", "iat"])("the NumericDate %s", (name) => {
  it.each(["1e400", "-1e400", "1e309"])("rejects an infinite number: %s", async (json) => {
    const payload = `${PAYLOAD.slice(0, -1)},"${name}":${json}}`;
    expect(await verdictOf(server, signed({ alg: "RS256" }, issuer.privateKey, payload))).toMatch(
      /^(claims|expired|not_yet_valid)$/,
    );
  });

  it.each<readonly [unknown]>([
    [String(NOW + 100)],
    [""],
    ["never"],
    [null],
    [true],
    [[NOW + 100]],
    [{}],
    [{ valueOf: NOW }],
  ])("rejects %j, which is not a number", async (value) => {
    expect(await verdictOn({ [name]: value })).toBe("claims");
  });
});

describe("the now option", () => {
  it.each([Number.NaN, Infinity, -Infinity, 9e15])("rejects every token if it returns %d", async (time) => {
    const broken = createServer({ now: () => time });
    for (const claims of [{}, { exp: NOW + 1000 }, { exp: 1 }]) {
      const token = await issuer.token(claims);
      await expect(broken.authenticate(token)).rejects.toThrow();
      const request = { method: "GET", target: "/agents", authorization: `Bearer ${token}` };
      await expect(broken.check(request)).rejects.toThrow();
    }
  });

  it.each([[null], [undefined], ["1700000000000"], ["2023-11-14"], [new Date(0)], [true]])(
    "rejects every token if it returns %j, which is not a number",
    async (time) => {
      const broken = createServer({ now: () => time as unknown as number });
      await expect(broken.authenticate(await issuer.token({ exp: NOW + 1000 }))).rejects.toThrow(
        "The `now` option must return milliseconds since the epoch.",
      );
    },
  );

  it("rejects every token if it throws", async () => {
    const broken = createServer({
      now: () => {
        throw new Error("There is no clock.");
      },
    });
    await expect(broken.authenticate(await issuer.token())).rejects.toThrow("There is no clock.");
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

describe("iss", () => {
  const options = { issuer: "https://issuer.example" };

  it.each([
    ["https://issuer.example", "accepted"],
    ["https://issuer.example/", "issuer"],
    ["https://ISSUER.example", "issuer"],
    ["https://issuer.example.evil.example", "issuer"],
    ["http://issuer.example", "issuer"],
    [" https://issuer.example", "issuer"],
    ["", "issuer"],
    [undefined, "issuer"],
    [null, "issuer"],
    [["https://issuer.example"], "issuer"],
    [{ issuer: "https://issuer.example" }, "issuer"],
  ])("returns for %j: %s", async (iss, verdict) => {
    expect(await verdictOn({ iss }, options)).toBe(verdict);
  });

  it("allows any value if no issuer is configured", async () => {
    expect(await verdictOn({ iss: "https://other.example" })).toBe("accepted");
    expect(await verdictOn({ iss: undefined })).toBe("accepted");
  });
});

describe("aud", () => {
  it.each([
    ["agents-prod", "accepted"],
    [["agents-prod"], "accepted"],
    [["other", "agents-prod"], "accepted"],
    ["other", "audience"],
    ["Agents-Prod", "audience"],
    ["agents-prod ", "audience"],
    ["agents-prod-2", "audience"],
    ["agents", "audience"],
    ["agents-prod other", "audience"],
    ["", "audience"],
    [["other"], "audience"],
    [[], "audience"],
    [[["agents-prod"]], "audience"],
    [undefined, "audience"],
    [null, "audience"],
    [{ 0: "agents-prod", length: 1 }, "audience"],
  ])("returns for %j and the service agents-prod: %s", async (aud, verdict) => {
    expect(await verdictOn({ aud })).toBe(verdict);
  });

  it.each([
    ["a", "accepted"],
    ["b", "accepted"],
    [["c", "b"], "accepted"],
    ["agents-prod", "audience"],
    [["c"], "audience"],
  ])("returns for %j and the audience a or b, which overrides serviceId: %s", async (aud, verdict) => {
    expect(await verdictOn({ aud }, { audience: ["a", "b"] })).toBe(verdict);
  });

  it("accepts a single string in the options", async () => {
    expect(await verdictOn({ aud: "a" }, { audience: "a" })).toBe("accepted");
    expect(await verdictOn({ aud: "agents-prod" }, { audience: "a" })).toBe("audience");
  });

  it("allows any value, or its absence, only with verifyAudience false", async () => {
    expect(await verdictOn({ aud: "other" }, { verifyAudience: false })).toBe("accepted");
    expect(await verdictOn({ aud: undefined }, { verifyAudience: false })).toBe("accepted");
    expect(await verdictOn({ aud: "other" }, { verifyAudience: true })).toBe("audience");
  });
});

describe("typ", () => {
  it.each([
    ["JWT", "accepted"],
    ["jwt", "accepted"],
    ["at+jwt", "accepted"],
    ["AT+JWT", "accepted"],
    ["application/at+jwt", "accepted"],
    ["Application/AT+JWT", "accepted"],
    ["application/jwt", "accepted"],
    [undefined, "accepted"],
    ["", "type"],
    ["id+jwt", "type"],
    ["dpop+jwt", "type"],
    ["logout+jwt", "type"],
    ["application/logout+jwt", "type"],
    ["JWT ", "type"],
    ["text/at+jwt", "type"],
    ["application/application/jwt", "type"],
    ["application/", "type"],
    ["null", "type"],
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

describe("a required claim", () => {
  it.each([
    [{ tenant: "t" }, "accepted"],
    [{ tenant: null }, "accepted"],
    [{}, "claims"],
    [{ Tenant: "t" }, "claims"],
    [{ nested: { tenant: "t" } }, "claims"],
  ])("returns for %j: %s", async (claims, verdict) => {
    expect(await verdictOn(claims, { requiredClaims: ["tenant"] })).toBe(verdict);
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "ignores inherited properties: a token without %s is rejected",
    async (claim) => {
      expect(await verdictOn({}, { requiredClaims: [claim] })).toBe("claims");
    },
  );
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

  it.each<Readonly<Record<"members" | "claims" | "options", object>> & { readonly verdict: string }>([
    {
      members: { scopes: ["platform:admin"] },
      claims: { scopes: undefined },
      options: {},
      verdict: "claims",
    },
    { members: { aud: "agents-prod" }, claims: { aud: undefined }, options: {}, verdict: "audience" },
    {
      members: { iss: "https://issuer.example" },
      claims: {},
      options: { issuer: "https://issuer.example" },
      verdict: "issuer",
    },
    { members: { exp: NOW + 9 }, claims: {}, options: { requiredClaims: ["exp"] }, verdict: "claims" },
    { members: { tenant: "t" }, claims: {}, options: { requiredClaims: ["tenant"] }, verdict: "claims" },
    { members: { iat: NOW }, claims: {}, options: { maxTokenAgeSeconds: 60 }, verdict: "claims" },
  ])("with $members sets no claim", async ({ members, claims, options, verdict }) => {
    const strict = createServer(options);
    const token = await issuer.token({ ...claims });
    expect(await polluted({ ...members }, () => verdictOf(strict, token))).toBe(verdict);
  });

  it.each([{ alg: "RS256" }, { alg: "none" }])("with %j sets no algorithm", async (members) => {
    const token = signed({ typ: "JWT" });
    expect(await polluted(members, () => verdictOf(server, token))).toBe("malformed");
  });

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

  it.each(["[]", "null", "5", '"claims"', '{"aud":"agents-prod","aud":"agents-prod"}'])(
    "rejects a signed payload that is not a claims set: %s",
    async (payload) => {
      const verify = createVerifier(rules, keysOf(issuer.publicKey));
      const token = signed({ alg: "RS256", typ: "JWT" }, issuer.privateKey, payload);
      expect(await verify(token)).toEqual({ kind: "rejected", rejection: "malformed" });
    },
  );

  it("rejects a token whose signature has another algorithm than its header", async () => {
    const read = readJwt(await issuer.token());
    const other = createIssuer({ algorithm: "PS256" });
    if (read.kind === "rejected") throw new Error(read.rejection);
    const verify = createTokenVerifier(rules, {
      find: keysOf(other.publicKey),
      holds: () => true,
      ready: () => Promise.resolve(),
      close: () => undefined,
      refresh: () => Promise.resolve(),
      status: () => ({ source: "test", state: "fresh", keyIds: [] }),
    });
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
