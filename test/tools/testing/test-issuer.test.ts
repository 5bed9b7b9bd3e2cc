import { createPublicKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Algorithm } from "scopegate";
import {
  createTestIssuer,
  type TestIssuer,
  type TestIssuerOptions,
  testRejections,
  type TestTokenOptions,
} from "scopegate/testing";
import { ALGORITHMS, isSymmetric } from "../../../src/core/keys/algorithm.ts";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
import { thrownBy, verdictOf } from "../../support/resource-servers.ts";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";

const NOW = 1_700_000_000;

const readPart = (part: string): object => JSON.parse(Buffer.from(part, "base64url").toString()) as object;
/** The header and the claims of a token. */
const partsOf = (token: string) => token.split(".").slice(0, 2).map(readPart);

const serverOf = (issuer: TestIssuer, others: ResourceServerOptions = {}) =>
  createResourceServer({ ...others, ...issuer.resourceServerOptions });

/** Issuers with a fixed clock, which their servers share. */
const createStill = (options: TestIssuerOptions = {}): TestIssuer =>
  createTestIssuer({ now: () => NOW * 1000, ...options });

/** One key for all RSA algorithms, because creating one takes long. */
const rsa = createTestIssuer({ algorithm: "RS256" }).key.privateKey;
const issuers = ALGORITHMS.map((algorithm) =>
  createTestIssuer({ algorithm, ...(/^[RP]S/.test(algorithm) && { signingKey: rsa }) }),
);
const issuerOf = (algorithm: Algorithm): TestIssuer =>
  issuers.find((issuer) => issuer.algorithm === algorithm) ?? createTestIssuer({ algorithm });

describe("a test issuer", () => {
  it.each(ALGORITHMS)(
    "signs with %s tokens that servers with its options, or with its key, accept",
    async (algorithm) => {
      const issuer = issuerOf(algorithm);
      const token = await issuer.token({ userId: "user-7", scopes: ["a:b"] });
      expect(partsOf(token)[0]).toEqual({ alg: algorithm, typ: "JWT", kid: "key-1" });
      const principal = await serverOf(issuer).authenticate(token);
      expect(principal).toMatchObject({ userId: "user-7", scopes: ["a:b"], issuer: "https://issuer.test" });
      const { audience, key } = issuer;
      const server = createResourceServer({ verificationKeys: [key.verificationKey], algorithm, audience });
      expect(await verdictOf(server, token)).toBe("accepted");
      // Only a symmetric key set contains its secret.
      expect(/"(?:d|p|q|k)":/.test(JSON.stringify(issuer.jwks))).toBe(isSymmetric(algorithm));
    },
  );

  it("signs with a given key", () => {
    const privateKey = generateKey("ed25519");
    const publicKey = createPublicKey(privateKey);
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    for (const signingKey of [privateKey, pem]) {
      const issuer = createTestIssuer({ algorithm: "EdDSA", signingKey });
      expect(issuer.key.publicKey.equals(publicKey)).toBe(true);
      expect(createPublicKey(issuer.key.verificationKey).equals(publicKey)).toBe(true);
    }
    const secret = "a secret that is as long as its hash";
    expect(createTestIssuer({ algorithm: "HS256", signingKey: secret }).key.verificationKey).toBe(secret);
  });

  it("overrides the conflicting options of a server", async () => {
    const issuer = createTestIssuer({ algorithm: "RS256", signingKey: rsa, audience: "agents-prod" });
    const production: readonly ResourceServerOptions[] = [
      { serviceId: "another", issuer: "https://login.example/", keys: { discovery: true } },
      { serviceId: "another", algorithms: ["ES256"], verificationKeys: ["no key"] },
      { issuers: [{ issuer: "https://a.example", keys: { discovery: true }, algorithms: ["RS256"] }] },
    ];
    for (const others of production)
      expect(await verdictOf(serverOf(issuer, others), await issuer.token())).toBe("accepted");
  });

  it("provides an entry for the option issuers", async () => {
    const one = createTestIssuer();
    const another = createTestIssuer({ issuer: "https://two.test", algorithm: "EdDSA" });
    const server = createResourceServer({ issuers: [one.trustedIssuer, another.trustedIssuer] });
    expect(await verdictOf(server, await one.token())).toBe("accepted");
    expect(await verdictOf(server, await another.token())).toBe("accepted");
    expect(await verdictOf(server, await one.token({ issuer: another.issuer }))).toBe("algorithm");
  });

  it("writes claims where the server reads them", async () => {
    const issuer = createTestIssuer({
      scopesClaim: ["realm_access", "roles"],
      userIdClaim: "uid",
      sessionIdClaim: "sid",
      claims: { realm_access: { other: 1 }, tenant: "t" },
    });
    const token = await issuer.token({ scopes: ["a:b"], userId: "u", sessionId: "s" });
    expect(partsOf(token)[1]).toMatchObject({ realm_access: { other: 1, roles: ["a:b"] }, tenant: "t" });
    expect(await serverOf(issuer).authenticate(token)).toMatchObject({
      scopes: ["a:b"],
      userId: "u",
      sessionId: "s",
    });
  });
});

describe("a token", () => {
  const issuer = createStill({ audience: "agents-prod" });
  const plain = {
    iss: "https://issuer.test",
    aud: "agents-prod",
    sub: "user-1",
    scopes: [],
    iat: NOW,
    exp: NOW + 300,
  };
  const without = (...names: readonly string[]) =>
    Object.fromEntries(Object.entries(plain).filter(([name]) => !names.includes(name)));

  it.each<[options: TestTokenOptions, claims: object]>([
    [{}, plain],
    [{ scopes: ["a:b", "c:*:d"] }, { ...plain, scopes: ["a:b", "c:*:d"] }],
    [{ scopes: "a:b c:d" }, { ...plain, scopes: "a:b c:d" }],
    [{ scopes: null }, without("scopes")],
    [
      { userId: "user-7", sessionId: "s", tokenId: "t" },
      { ...plain, sub: "user-7", session_id: "s", jti: "t" },
    ],
    [{ userId: null, audience: null, issuer: null }, without("sub", "aud", "iss")],
    [
      { audience: ["a", "b"], issuer: "i" },
      { ...plain, aud: ["a", "b"], iss: "i" },
    ],
    [{ expiresIn: 60 }, { ...plain, exp: NOW + 60 }],
    [{ expiresIn: -60 }, { ...plain, exp: NOW - 60 }],
    [{ expiresIn: null }, without("exp")],
    [{ claims: { tenant: "t", sub: 5 } }, { ...plain, tenant: "t", sub: 5 }],
    [{ claims: { iat: undefined, exp: undefined } }, without("iat", "exp")],
    [{ claims: { scopes: ["a::b"] } }, { ...plain, scopes: ["a::b"] }],
    [{ actors: ["b", "a"] }, { ...plain, act: { sub: "b", act: { sub: "a" } } }],
  ])("contains for the options %j the claims %j", async (options, claims) => {
    expect(partsOf(await issuer.token(options))[1]).toEqual(claims);
  });

  it.each<[options: TestTokenOptions, header: object]>([
    [{}, { alg: "ES256", typ: "JWT", kid: "key-1" }],
    [{ header: { typ: "at+jwt", extra: 1 } }, { alg: "ES256", typ: "at+jwt", kid: "key-1", extra: 1 }],
    [{ header: { typ: undefined, kid: undefined } }, { alg: "ES256" }],
    [{ header: { kid: "another" } }, { alg: "ES256", typ: "JWT", kid: "another" }],
  ])("contains for the options %j the header %j", async (options, header) => {
    expect(partsOf(await issuer.token(options))[0]).toEqual(header);
    const typed = createTestIssuer({ tokenType: "at+jwt" });
    expect(partsOf(await typed.token())[0]).toMatchObject({ typ: "at+jwt" });
    const untyped = createTestIssuer({ tokenType: null });
    expect(partsOf(await untyped.token())[0]).not.toHaveProperty("typ");
  });

  it.each(["ES256", "RS256", "HS256"] as const)(
    "causes the rejection of rejectedAs, with %s",
    async (algorithm) => {
      const still = createStill({ algorithm });
      const server = serverOf(still);
      const verdicts = testRejections.map(async (rejectedAs) =>
        verdictOf(server, await still.token({ rejectedAs })),
      );
      expect(await Promise.all(verdicts)).toEqual(testRejections);
    },
  );

  it.each<[options: ResourceServerOptions]>([
    [{ scopeSources: [{ claim: "role", map: { viewer: ["a:read"] } }] }],
    [{ scopeSources: [{ claim: "role", required: false }] }],
    [{ authorization: false }],
  ])("causes the rejection of rejectedAs on a server with the options %j", async (options) => {
    const still = createStill({ claims: { role: "viewer" } });
    const server = serverOf(still, options);
    expect(await verdictOf(server, await still.token())).toBe("accepted");
    for (const rejectedAs of testRejections)
      expect(await verdictOf(server, await still.token({ rejectedAs }))).toBe(rejectedAs);
  });

  it("causes a rejection even if the keys have no kid", async () => {
    const still = createStill({ kid: null });
    const server = serverOf(still);
    expect(await verdictOf(server, await still.token())).toBe("accepted");
    for (const rejectedAs of testRejections)
      expect(await verdictOf(server, await still.token({ rejectedAs })), rejectedAs).not.toBe("accepted");
  });

  it("contains the options of its caller", async () => {
    const reader = issuer.caller({ userId: "user-7", scopes: ["a:b"] });
    expect(partsOf(await reader.token())[1]).toEqual({ ...plain, sub: "user-7", scopes: ["a:b"] });
    expect(partsOf(await reader.token({ userId: "user-8" }))[1]).toMatchObject({
      sub: "user-8",
      scopes: ["a:b"],
    });
  });

  it.each<[scopes: string | readonly string[], read: string]>([
    [["a:b", "c:d"], "a:b c:d"],
    ["a:b  c:d ", "a:b c:d"],
    ["", ""],
    [[], ""],
  ])("comes from a caller with the scopes in %j", async (scopes, read) => {
    const caller = issuer.caller({ scopes });
    expect(caller.scopes.join(" ")).toBe(read);
    const { scopes: granted } = await serverOf(issuer).authenticate(await caller.token());
    expect(granted).toEqual(caller.scopes);
    expect([issuer.caller({ scopes: null }).scopes, issuer.caller().scopes]).toEqual([[], []]);
  });
});

describe("the keys of a test issuer", () => {
  it("rotate: the new key signs, and the old keys stay published", async () => {
    const issuer = createTestIssuer();
    const before = { server: serverOf(issuer), token: await issuer.token() };
    expect(issuer.rotate().kid).toBe("key-2");
    expect(issuer.key.kid).toBe("key-2");
    const [server, token] = [serverOf(issuer), await issuer.token()];
    expect(await verdictOf(server, token)).toBe("accepted");
    expect(await verdictOf(server, before.token)).toBe("accepted");
    expect(await verdictOf(before.server, token)).toBe("key");
  });

  it('rotate: with oldKeys "withdrawn" the old keys can sign but are not published', async () => {
    const issuer = createTestIssuer({ kid: "main" });
    issuer.rotate({ oldKeys: "withdrawn" });
    const server = serverOf(issuer);
    expect(issuer.jwks.keys.map(({ kid }) => kid)).toEqual(["main-2"]);
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(await verdictOf(server, await issuer.token({ kid: "main" }))).toBe("key");
  });

  it("stop being published one by one with withdraw, and rotate without a kid", async () => {
    const issuer = createTestIssuer();
    issuer.rotate();
    issuer.rotate();
    issuer.withdraw("key-1");
    expect(issuer.jwks.keys.map(({ kid }) => kid)).toEqual(["key-2", "key-3"]);
    const nameless = createTestIssuer({ kid: null });
    const token = await nameless.token();
    nameless.rotate();
    for (const one of [token, await nameless.token()])
      expect(await verdictOf(serverOf(nameless), one)).toBe("accepted");
  });
});

describe("a test issuer with a mistake in a call", () => {
  const issuer = createTestIssuer();
  const create = (options: object) => () => createTestIssuer(options);
  const call = (options: object) => () => issuer.caller(options);

  const otherKey = createTestIssuer({ algorithm: "ES384" }).key.privateKey;

  it.each<[message: string, run: () => unknown]>([
    ["Did you mean `audience`?", create({ audiences: "a" })],
    ["received unknown option `port`", create({ port: 80 })],
    ['Write one of "RS256"', create({ algorithm: "none" })],
    ["isn't a private key for ES256. Write its PEM", create({ signingKey: otherKey })],
    ["isn't a private key for ES256", create({ signingKey: issuer.key.publicKey })],
    ["Write a string of 64 bytes or more.", create({ algorithm: "HS512", signingKey: "short" })],
    ["caller.scope: received unknown option `scope`. Did you mean `scopes`?", call({ scope: ["a:b"] })],
    ["caller: takes its options as an object. The options are scopes", call(["a:b"])],
    ["caller.scopes: must be an array.", call({ scopes: 5 })],
    ['"agents read" is a scope that grants nothing.', call({ scopes: ["agents read"] })],
    ['"agents::read" is a scope that grants nothing.', call({ scopes: "a:b agents::read" })],
    ["Write an id instead of the parameter", call({ scopes: ["agents:<agent_id>:read"] })],
    ["Write seconds from now", call({ expiresIn: "5m" })],
    ['Write one of "malformed"', call({ rejectedAs: "revoked" })],
    ["received unknown option `keep`", () => issuer.rotate({ keep: true } as object)],
    ["It has key-1. To send another `kid`", () => issuer.withdraw("other")],
    ["It has keys without a `kid`.", () => createTestIssuer({ kid: null }).withdraw("key-1")],
    ['oldKeys: has an invalid value. Write one of "kept"', () => issuer.rotate({ oldKeys: "no" } as object)],
    ["Call `rotate()` first.", () => issuer.withdraw("key-1")],
  ])("throws an error with the fix: %s", (message, run) => {
    expect(thrownBy(run).message).toContain(message);
  });

  it.each<[message: string, options: TestTokenOptions]>([
    ["isn't a key of this issuer. It has key-1.", { kid: "key-9" }],
    ['write `rejectedAs: "algorithm"`', { header: { alg: "HS256" } }],
    ["isn't an algorithm of the key", { header: { alg: "ES384" } }],
    ["Did you mean `expiresIn`?", { expires: 5 } as TestTokenOptions],
  ])("rejects the token with the fix: %s", async (message, options) => {
    await expect(issuer.token(options)).rejects.toThrow(message);
  });
});
