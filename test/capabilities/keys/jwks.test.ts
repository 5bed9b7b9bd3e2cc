/** Which keys of `verificationKeys`, of a configured JWK Set and of a published one are used. */
import { describe, expect, it } from "vitest";
import type { JsonWebKeySet, KeyFetch } from "scopegate/keys";
import { importLoadedJwks, importPublished } from "../../../src/capabilities/keys/jwks.ts";
import { compact } from "../../../src/core/runtime/compact.ts";
import { createIssuer } from "../../support/issuer.ts";
import { first, second } from "../../support/key-issuer.ts";
import { createRemote, MAX_AGE } from "../../support/remote-keys.ts";
import { createServer, issuer, issuesOf, mistakesOf, verdictOf } from "../../support/resource-servers.ts";

const elliptic = createIssuer({ algorithm: "ES256", kid: "elliptic" });
const privateJwk = second.privateKey.export({ format: "jwk" });
const without = (jwk: object, name: string) => ({ kty: "RSA", ...jwk, [name]: undefined });
const secret = (kid: string | undefined, letter: string) =>
  compact({ kty: "oct", k: Buffer.alloc(32, letter).toString("base64url"), kid });

const serverWith = (...keys: JsonWebKeySet["keys"]) => createServer({ keys: { jwks: { keys } } });
const mistakesWith = (keys: readonly unknown[], options: object = {}) =>
  mistakesOf(() => createServer({ keys: { jwks: { keys } as never }, ...options }));

describe("the keys that a token is tried with", () => {
  const bare = without(second.publicJwk, "kid");
  const reused = { ...second.publicJwk, kid: "first" };
  it.each<readonly [string, JsonWebKeySet["keys"], string | undefined, string]>([
    ["the key with its kid", [first.publicJwk, second.publicJwk], "second", "accepted"],
    ["no key with another kid", [first.publicJwk, second.publicJwk], "first", "signature"],
    ["no key for an unknown kid, if every key has one", [first.publicJwk, second.publicJwk], "x", "key"],
    ["every key for no kid", [first.publicJwk, second.publicJwk], undefined, "accepted"],
    ["every key with its kid, as during a rotation", [first.publicJwk, reused], "first", "accepted"],
    ["a key without a kid for an unknown kid", [first.publicJwk, bare], "x", "accepted"],
    ["no key without a kid, if another one has its kid", [first.publicJwk, bare], "first", "signature"],
  ])("are %s", async (_, keys, kid, expected) => {
    const token = await second.token({}, { kid });
    expect(await verdictOf(serverWith(...keys), token)).toBe(expected);
    expect(await verdictOf(createServer({ verificationKeys: keys }), token)).toBe(expected);
  });

  it("can be duplicates and have several forms", async () => {
    const verificationKeys = [issuer.publicPem, issuer.publicKey, issuer.publicJwk, second.publicJwk];
    const server = createServer({ verificationKeys });
    for (const { token } of [issuer, second]) expect(await verdictOf(server, await token())).toBe("accepted");
  });
});

describe("configured keys", () => {
  const WEAK = { ...first.publicJwk, e: "AQ" };
  const leaked = { ...privateJwk, kid: "leaked" };
  const repeated = [secret("first", "a"), secret("second", "b"), secret("first", "c")];
  const HS256 = { algorithm: "HS256" };
  const SET = ["keys", "jwks", "keys"] as const;
  it.each<readonly [string, readonly unknown[], object, readonly unknown[]]>([
    [
      "private keys",
      [second.publicJwk, leaked, leaked],
      {},
      [1, 2].map((index) => ["key_private", ...SET, index]),
    ],
    ["only a private key", [leaked], {}, [["key_private", ...SET, 0]]],
    ["no keys", [], {}, [["key_unusable", ...SET]]],
    ["no key for the algorithm", [elliptic.publicJwk], {}, [["key_unusable", ...SET]]],
    ["only encryption keys", [{ ...first.publicJwk, use: "enc" }], {}, [["key_unusable", ...SET]]],
    ["only weak keys", [WEAK], {}, [["key_unusable", ...SET]]],
    ["no secret for HS256", [first.publicJwk], HS256, [["key_unusable", ...SET]]],
    ["two secrets with one kid", repeated, HS256, [["key_invalid", ...SET]]],
  ])("may not be a JWK Set with %s", (_, keys, options, mistakes) => {
    expect(mistakesWith(keys, options)).toEqual(mistakes);
  });

  it("may be secrets of different kids, or without a kid", () => {
    for (const keys of [
      [secret("a", "a"), secret("b", "a")],
      [secret(undefined, "a"), secret(undefined, "b")],
    ])
      expect(() => createServer({ algorithm: "HS256", keys: { jwks: { keys } } })).not.toThrow();
  });

  it("may not be wrong in `verificationKeys`, which reports every wrong key", () => {
    expect(
      mistakesOf(() => createServer({ verificationKeys: ["x", issuer.publicPem, issuer.privateKey] })),
    ).toEqual([
      ["key_invalid", "verificationKeys", 0],
      ["key_private", "verificationKeys", 2],
    ]);
    expect(mistakesOf(() => createServer({ algorithm: "HS256", verificationKeys: repeated }))).toEqual([
      ["key_invalid", "verificationKeys"],
    ]);
    expect(issuesOf({ serviceId: "a", keys: { verificationKeys: [issuer.publicPem] } })).toMatchObject([
      { code: "option_unknown", hint: expect.stringContaining("instead of `keys`") as string },
    ]);
  });
});

/** Nested as deeply as half a megabyte allows. */
const deep: unknown = JSON.parse(`{"kty":"RSA","x5c":${"[".repeat(200_000)}${"]".repeat(200_000)}}`);
const BAD_EXPONENT = "is an RSA key whose public exponent isn't an odd number of at least 3.";
const PUBLISHED_SECRET = "is a symmetric key, which must not be published.";

/** Entries next to a good key: whether a published set uses them, and the problem that it reports. */
type Entry = readonly [name: string, entry: unknown, isUsed: boolean, problem: string | undefined];
const entries: readonly Entry[] = [
  ["another good key", second.publicJwk, true, undefined],
  ["a key without a kid", without(second.publicJwk, "kid"), true, "has no `kid`."],
  ["another key with the same kid", { ...second.publicJwk, kid: "first" }, true, "repeats a `kid`."],
  ["a key of another algorithm", elliptic.publicJwk, false, undefined],
  ["a key for encryption", { ...second.publicJwk, use: "enc" }, false, undefined],
  ["a private key", { ...privateJwk, kid: "second" }, false, "is a private key."],
  ["a private EC key", elliptic.privateKey.export({ format: "jwk" }), false, "is a private key."],
  ["a public key with a private prime", { ...second.publicJwk, p: privateJwk.p }, false, "is a private key."],
  ["a secret", { kty: "oct", k: "Y2FuYXJ5", kid: "s" }, false, PUBLISHED_SECRET],
  ["a key of an unknown type", { kty: "AKP", alg: "ML-DSA-44", pub: "AA" }, false, "has an unknown `kty`."],
  ["a type in another letter case", { ...second.publicJwk, kty: "rsa" }, false, "has an unknown `kty`."],
  ["no type", { ...second.publicJwk, kty: undefined }, false, "isn't a JWK: it has no `kty`."],
  ["null", null, false, "isn't a JWK: it has no `kty`."],
  ["a kid that is not a string", { ...second.publicJwk, kid: 5 }, false, "has a `kid` that isn't a string."],
  ["no modulus", without(second.publicJwk, "n"), false, "isn't a valid JWK."],
  ["a key nested too deeply", deep, false, "isn't a valid JWK."],
  ["a weak key", { ...second.publicJwk, e: "AQ" }, false, BAD_EXPONENT],
];

const importKeys = (
  keys: readonly unknown[],
  keysInUse: ReturnType<typeof importLoadedJwks>["keys"] = new Map(),
) => importLoadedJwks({ keys } as JsonWebKeySet, ["RS256"], keysInUse, importPublished);

describe("a published set", () => {
  it.each(entries)("keeps its good key next to %s", (_, entry, isUsed, problem) => {
    for (const set of [
      [entry, first.publicJwk],
      [first.publicJwk, entry],
    ]) {
      const { keys, problems } = importKeys(set);
      expect(keys.has(JSON.stringify(first.publicJwk))).toBe(true);
      expect(keys.size).toBe(isUsed ? 2 : 1);
      const index = problem === "repeats a `kid`." ? 1 : set.indexOf(entry);
      expect(problems).toEqual(problem === undefined ? [] : [`keys[${index}] ${problem}`]);
    }
  });

  it("is accepted at construction with the same entries, except private keys (RFC 7517 section 5)", async () => {
    for (const [name, entry, isUsed, problem] of entries) {
      if (problem === "is a private key.") continue;
      const server = serverWith(first.publicJwk, entry as never);
      expect(await verdictOf(server, await first.token()), name).toBe("accepted");
      const verdict = await verdictOf(server, await second.token({}, { kid: undefined }));
      expect(verdict, name).toBe(isUsed ? "accepted" : "signature");
    }
  });

  it("imports a key once that is published twice, and accepts a single key without a kid", () => {
    expect(importKeys([first.publicJwk, first.publicJwk]).keys.size).toBe(1);
    const { keys, problems } = importKeys([without(first.publicJwk, "kid")]);
    expect([keys.size, problems]).toEqual([1, []]);
  });

  it("uses at most 100 keys", () => {
    const many = [...Array(101).keys()].map((index) => ({ ...first.publicJwk, kid: `${index}` }));
    const { keys, problems } = importKeys(many);
    expect([keys.size, problems]).toEqual([100, ["Only the first 100 keys are used."]]);
    expect([...keys.values()].at(-1)?.kid).toBe("99");
    expect(importKeys(many.slice(1)).problems).toEqual([]);
  });

  it("keeps unchanged keys as the same objects", () => {
    const { keys: keysInUse } = importKeys([first.publicJwk, second.publicJwk]);
    const { keys } = importKeys([{ ...second.publicJwk, kid: "changed" }, { ...first.publicJwk }], keysInUse);
    const json = JSON.stringify(first.publicJwk);
    expect(keys.get(json)).toBe(keysInUse.get(json));
    expect([...keys.values()].map((key) => [...keysInUse.values()].includes(key))).toEqual([false, true]);
  });

  const jwksUri = "https://issuer.example/jwks";
  it("reports its problems once, and again when they change or return", async () => {
    const good = [first.publicJwk];
    const leaky = [first.publicJwk, { kty: "oct" }];
    const worse = [...leaky, null];
    let keys: readonly unknown[] = [];
    const fetch: KeyFetch = () => Promise.resolve(Response.json({ keys }));
    const { verdict, pass, events } = createRemote({ jwksUri, fetch });
    for (keys of [leaky, leaky, worse, worse, good, leaky]) {
      expect(await verdict(await first.token())).toBe("accepted");
      pass(MAX_AGE);
    }
    const problem = `keys[1] ${PUBLISHED_SECRET}`;
    expect(events.filter(({ type }) => type === "failed")).toMatchObject([
      { source: jwksUri, message: problem },
      { source: jwksUri, message: `${problem} keys[2] isn't a JWK: it has no \`kty\`.` },
      { source: jwksUri, message: problem },
    ]);
    expect(events.filter(({ type }) => type === "fetched")).toHaveLength(6);
  });
});
