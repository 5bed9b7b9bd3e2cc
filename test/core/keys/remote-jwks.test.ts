import { describe, expect, it } from "vitest";
import type { JsonWebKeySet, KeyFetch } from "scopegate/keys";
import { importLoadedJwks, importPublished } from "../../../src/capabilities/keys/jwks.ts";
import { createIssuer } from "../../support/issuer.ts";
import { first, second } from "../../support/key-issuer.ts";
import { createRemote, MAX_AGE, setOf } from "../../support/remote-keys.ts";

const elliptic = createIssuer({ algorithm: "ES256", kid: "elliptic" });
const NONE = new Map<never, never>();

const importKeys = (...keys: readonly unknown[]) =>
  importLoadedJwks({ keys } as JsonWebKeySet, ["RS256"], NONE, importPublished);

const without = (jwk: object, name: string) => ({ ...jwk, [name]: undefined });
/** Nested as deeply as half a megabyte allows. */
const deep = (): unknown => JSON.parse(`{"kty":"RSA","x5c":${"[".repeat(200_000)}${"]".repeat(200_000)}}`);
const ownPrivate = second.privateKey.export({ format: "jwk" });

/** Entries next to a good key, each with the reported problem if there is one. */
const others: readonly (readonly [name: string, other: unknown, problem: string | undefined])[] = [
  ["another good key", second.publicJwk, undefined],
  ["a key of another algorithm", elliptic.publicJwk, undefined],
  ["a key for encryption", { ...second.publicJwk, use: "enc" }, undefined],
  ["a private key", { ...ownPrivate, kid: "second" }, "is a private key."],
  ["a private key of another type", elliptic.privateKey.export({ format: "jwk" }), "is a private key."],
  [
    "a public key with a prime of the private one",
    { ...second.publicJwk, p: ownPrivate.p },
    "is a private key.",
  ],
  ["a secret", { kty: "oct", k: "Y2FuYXJ5", kid: "s" }, "is a symmetric key, which must not be published."],
  ["a key of an unknown type", { kty: "AKP", alg: "ML-DSA-44", pub: "AA" }, "has an unknown `kty`."],
  ["a key whose type has another letter case", { ...second.publicJwk, kty: "rsa" }, "has an unknown `kty`."],
  ["a key without a type", without(second.publicJwk, "kty"), "isn't a JWK: it has no `kty`."],
  ["null", null, "isn't a JWK: it has no `kty`."],
  ["a kid that is not a string", { ...second.publicJwk, kid: 5 }, "has a `kid` that isn't a string."],
  ["a key without its modulus", without(second.publicJwk, "n"), "isn't a valid JWK."],
  ["a key nested too deeply", deep(), "isn't a valid JWK."],
  [
    "a weak key",
    { ...second.publicJwk, e: "AQ" },
    "is an RSA key whose public exponent isn't an odd number of at least 3.",
  ],
  ["a key without a kid", without(second.publicJwk, "kid"), "has no `kid`."],
  ["another key with the same kid", { ...second.publicJwk, kid: "first" }, "repeats a `kid`."],
];

/** Entries that are imported as well. Two keys have the same kid during a rotation. */
const USABLE = new Set(["another good key", "a key without a kid", "another key with the same kid"]);

describe("a published set", () => {
  it.each(others)("keeps its good key next to %s", (name, other, problem) => {
    for (const before of [true, false]) {
      const { keys, problems } = importKeys(
        ...(before ? [other, first.publicJwk] : [first.publicJwk, other]),
      );
      expect(keys.has(JSON.stringify(first.publicJwk))).toBe(true);
      expect(keys.size).toBe(USABLE.has(name) ? 2 : 1);
      const place = before && !problem?.includes("repeats") ? 0 : 1;
      expect(problems).toEqual(problem === undefined ? [] : [`keys[${place}] ${problem}`]);
    }
  });

  it("imports a key once that is published twice", () => {
    expect(importKeys(first.publicJwk, first.publicJwk).keys.size).toBe(1);
  });

  it("accepts a single key without a kid", () => {
    const { keys, problems } = importKeys(without(first.publicJwk, "kid"));
    expect([keys.size, problems]).toEqual([1, []]);
  });

  it("uses at most 100 keys", () => {
    const many = [...Array(101).keys()].map((index) => ({ ...first.publicJwk, kid: `${index}` }));
    const { keys, problems } = importKeys(...many);
    expect([keys.size, problems]).toEqual([100, ["Only the first 100 keys are used."]]);
    expect([...keys.values()].at(-1)?.kid).toBe("99");
    expect(importKeys(...many.slice(1)).problems).toEqual([]);
  });

  it("keeps unchanged keys as the same objects", () => {
    const keysInUse = importKeys(first.publicJwk, second.publicJwk).keys;
    const changed = { ...second.publicJwk, n: first.publicJwk["n" as never] as string };
    const { keys } = importLoadedJwks(
      { keys: [changed, { ...first.publicJwk }] },
      ["RS256"],
      keysInUse,
      importPublished,
    );
    const [one, other] = [...keys.values()];
    expect(other).toBe(keysInUse.get(JSON.stringify(first.publicJwk)));
    expect([...keysInUse.values()]).not.toContain(one);
  });
});

describe("the problems of a published set", () => {
  const jwksUri = "https://issuer.example/jwks";
  const remoteOf = (set: () => unknown) => {
    const fetch: KeyFetch = () => Promise.resolve(Response.json(set()));
    return createRemote({ jwksUri, fetch });
  };
  const failed = (message: string) => ({ type: "failed", source: jwksUri, message });

  it("appear in events once, and again when they change or return", async () => {
    const [good, leaky] = [setOf(first), { keys: [first.publicJwk, { kty: "oct" }] }];
    const worse = { keys: [...leaky.keys, null] };
    let set = leaky;
    const { verdict, pass, events } = remoteOf(() => set);
    for (const next of [leaky, leaky, worse, worse, good, leaky] as const) {
      set = next as typeof leaky;
      expect(await verdict(await first.token())).toBe("accepted");
      pass(MAX_AGE);
    }
    const secret = "keys[1] is a symmetric key, which must not be published.";
    expect(events.filter(({ type }) => type === "failed")).toMatchObject([
      failed(secret),
      failed(`${secret} keys[2] isn't a JWK: it has no \`kty\`.`),
      failed(secret),
    ]);
    expect(events.filter(({ type }) => type === "fetched")).toHaveLength(6);
  });

  it("appear without any part of a key", async () => {
    const jwks = [...others.map(([, other]) => other), first.publicJwk].filter(
      (jwk) => JSON.stringify(Object.keys(jwk ?? {})) !== '["kty","x5c"]',
    );
    const { verdict, events } = remoteOf(() => ({ keys: jwks }));
    expect(await verdict(await first.token())).toBe("accepted");
    const shown = JSON.stringify(events.map(({ message }) => message));
    expect(shown).toContain("is a private key.");
    const parts = ["n", "e", "d", "p", "q", "dp", "dq", "qi", "k", "x", "y", "kid", "pub"];
    const material = jwks.flatMap((jwk) =>
      parts
        .map((part) => (jwk as Record<string, unknown> | null)?.[part])
        .filter((value) => typeof value === "string"),
    );
    expect(material.length).toBeGreaterThan(40);
    for (const value of material) expect(shown).not.toContain(JSON.stringify(value));
    expect(shown).not.toContain("canary");
  });
});
