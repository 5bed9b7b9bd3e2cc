/** Forged signatures, unsuitable keys, keys with a declared purpose, and references to keys. */
import { createPublicKey, createSecretKey } from "node:crypto";
import {
  forge,
  jwkOf,
  type KeyName,
  partsOf,
  pemOf,
  privateKeyOf,
  publicKeyOf,
  row,
  rsaWithExponent,
  SECRET,
  type TokenCase,
  withHeader,
  encode,
} from "./forge.ts";
import { generateKey } from "../../../src/tools/testing/test-key.ts";

type Options = NonNullable<TokenCase["options"]>;
type Keys = NonNullable<Options["verificationKeys"]>;
const options = (algorithm: NonNullable<Options["algorithm"]>, ...verificationKeys: Keys): Options => ({
  algorithm,
  verificationKeys,
});
const set = (...keys: readonly object[]): Options => ({ keys: { jwks: { keys } } });

/** The order of the P-256 group. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const hex = (number: bigint): Buffer => Buffer.from(number.toString(16).padStart(64, "0"), "hex");

const es256 = forge({ alg: "ES256", key: privateKeyOf("p256") });
/** The ES256 token with a changed signature. */
function es256With(change: Change): string {
  const [r, s] = signatureIn(es256).toString("hex").match(/.{64}/g) ?? [];
  const changed = change(BigInt(`0x${r}`), BigInt(`0x${s}`));
  return withSignature(es256, Buffer.concat(changed.map(hex)));
}

type Change = (r: bigint, s: bigint) => readonly [bigint, bigint];
const changes: readonly (readonly [expected: string, name: string, change: Change])[] = [
  ["accepted", "the unchanged signature", (r, s) => [r, s]],
  // Both are valid signatures of the same message; RFC 7518 section 3.4 does not require the low s.
  ["accepted", "the other valid s, low or high", (r, s) => [r, ORDER - s]],
  ["signature", "r and s are zero", () => [0n, 0n]],
  ["signature", "s is zero", (r) => [r, 0n]],
  ["signature", "r is zero", (_, s) => [0n, s]],
  ["signature", "r and s are the order", () => [ORDER, ORDER]],
  ["signature", "r is the order, s is zero", () => [ORDER, 0n]],
  ["signature", "s is the order", (r) => [r, ORDER]],
  ["signature", "r and s are one", () => [1n, 1n]],
  ["signature", "r and s are swapped", (r, s) => [s, r]],
];
const ecdsa = (expected: string, name: string, token: string): TokenCase =>
  row(expected, `ECDSA: ${name}`, token, options("ES256", pemOf("p256")));

const withSignature = (token: string, bytes: Uint8Array): string => {
  const [header, payload] = partsOf(token);
  return `${header}.${payload}.${encode(bytes)}`;
};

const signatureIn = (token: string): Buffer => Buffer.from(partsOf(token)[2], "base64url");
const hs256 = forge({ alg: "HS256" });

const signatures: readonly TokenCase[] = [
  ...changes.map(([expected, name, change]) => ecdsa(expected, name, es256With(change))),
  ecdsa(
    "signature",
    "DER instead of raw r and s",
    withSignature(es256, Buffer.from("3006020101020101", "hex")),
  ),
  ecdsa("signature", "one byte too few", withSignature(es256, Buffer.alloc(63, 1))),
  ecdsa("signature", "one byte too many", withSignature(es256, Buffer.alloc(65, 1))),
  ...[0, 1, 255, 256, 257].map((size) =>
    row(
      size === 0 ? "algorithm" : "signature",
      `RSA: a signature of ${size} zero bytes`,
      withSignature(forge(), Buffer.alloc(size)),
    ),
  ),
  row(
    "signature",
    "RSA: a signature with its first bit flipped",
    withSignature(
      forge(),
      signatureIn(forge()).map((byte, index) => (index === 0 ? byte ^ 0x80 : byte)),
    ),
  ),
  row(
    "signature",
    "RSA: the signature of another token",
    withSignature(forge(), signatureIn(withHeader({ kid: "x" }))),
  ),
  row(
    "signature",
    "HMAC: a shortened tag",
    withSignature(hs256, signatureIn(hs256).subarray(0, 16)),
    options("HS256", SECRET),
  ),
  row("algorithm", "HMAC: no tag", withSignature(hs256, Buffer.alloc(0)), options("HS256", SECRET)),
];

const wrong = (
  name: string,
  algorithm: NonNullable<Options["algorithm"]>,
  expected: string,
  ...keys: Keys
): TokenCase => ({
  name: `a configured key: ${name}`,
  token: forge({ alg: algorithm.startsWith("HS") ? algorithm : "RS256" }),
  options: options(algorithm, ...keys),
  expected,
});

const rsaOf = (modulusLength: number) => createPublicKey(generateKey("rsa", { modulusLength }));
const privatePem = (type: "pkcs1" | "pkcs8"): string =>
  privateKeyOf("rsa").export({ type, format: "pem" }).toString();

const unfit: readonly TokenCase[] = [
  ...(["p384", "p521", "k256", "rsa", "ed25519"] as const).map((key: KeyName) =>
    wrong(`${key} for ES256`, "ES256", "key_unusable", pemOf(key)),
  ),
  ...(["p256", "p521"] as const).map((key) => wrong(`${key} for ES384`, "ES384", "key_unusable", pemOf(key))),
  wrong("P-256 for RS256", "RS256", "key_unusable", pemOf("p256")),
  wrong("P-256 for EdDSA", "EdDSA", "key_unusable", pemOf("p256")),
  wrong("X25519 for EdDSA", "EdDSA", "key_unusable", createPublicKey(generateKey("x25519"))),
  wrong("Ed448 for EdDSA", "EdDSA", "key_unusable", createPublicKey(generateKey("ed448"))),
  wrong("RSA of 1024 bits", "RS256", "key_weak", rsaOf(1024)),
  wrong("RSA of 2047 bits", "PS256", "key_weak", rsaOf(2047)),
  wrong("RSA with the exponent 1", "RS256", "key_weak", rsaWithExponent("AQ")),
  wrong("RSA with the exponent 1, as JWK", "RS256", "key_weak", jwkOf("rsa", { e: "AQ" })),
  wrong("RSA with the exponent 2", "RS256", "key_weak", rsaWithExponent("Ag")),
  wrong("RSA with the exponent 65536", "RS256", "key_weak", rsaWithExponent("AQAA")),
  wrong("a secret of 31 bytes", "HS256", "key_weak", "s".repeat(31)),
  wrong("a secret of 47 bytes for HS384", "HS384", "key_weak", "s".repeat(47)),
  wrong("a secret of 63 bytes for HS512", "HS512", "key_weak", createSecretKey(Buffer.alloc(63))),
  wrong("an empty secret", "HS256", "option_invalid", ""),
  wrong("a secret of 6 bytes", "HS256", "key_weak", "secret"),
  wrong("a private key as a secret", "HS256", "key_unusable", privatePem("pkcs8")),
  row(
    "accepted",
    "a configured key: a secret of exactly 32 bytes",
    forge({ alg: "HS256", key: "s".repeat(32) }),
    options("HS256", "s".repeat(32)),
  ),
];

const purposes: readonly TokenCase[] = [
  ...(
    [
      [{ use: "sig" }, "accepted"],
      [{ key_ops: ["verify"] }, "accepted"],
      [{ key_ops: ["sign", "verify"] }, "accepted"],
      [{ alg: "RS256" }, "accepted"],
      [{ use: "sig", key_ops: ["verify"], alg: "RS256", kid: "k" }, "accepted"],
      [{ use: "enc" }, "key_unusable"],
      [{ use: "SIG" }, "key_unusable"],
      [{ key_ops: ["encrypt"] }, "key_unusable"],
      [{ key_ops: [] }, "key_unusable"],
      [{ key_ops: "verify" }, "key_unusable"],
      [{ alg: "RS512" }, "key_unusable"],
      [{ alg: "PS256" }, "key_unusable"],
      [{ alg: "RSA-OAEP" }, "key_unusable"],
      [{ alg: "none" }, "key_unusable"],
    ] as const
  ).map(([more, expected]) =>
    row(expected, `a JWK with ${JSON.stringify(more)}`, forge(), { verificationKeys: [jwkOf("rsa", more)] }),
  ),
  row("key", "alg RS512, where the only JWK is for RS256", forge({ alg: "RS512" }), {
    algorithms: ["RS256", "RS512"],
    verificationKeys: [jwkOf("rsa", { alg: "RS256" })],
  }),
];

const keySet = set(jwkOf("rsa", { kid: "own" }), jwkOf("stranger", { kid: "other" }));
const forgedBy = (header: Readonly<Record<string, unknown>>): string =>
  withHeader(header, privateKeyOf("stranger"));

const names: readonly TokenCase[] = [
  row("accepted", "the kid of its key", withHeader({ kid: "own" }), keySet),
  row("accepted", "no kid", withHeader({}), keySet),
  row("accepted", "a kid, where the key has none", withHeader({ kid: "any" })),
  row(
    "accepted",
    "kid __proto__, which is the kid of a key",
    withHeader({ kid: "__proto__" }),
    set(jwkOf("rsa", { kid: "__proto__" })),
  ),
  row("signature", "the kid of another key", withHeader({ kid: "other" }), keySet),
  ...[
    ...["../../../../dev/null", "/dev/null", "file:///dev/null", "own' OR '1'='1", "own; DROP TABLE keys"],
    ...["' UNION SELECT 'key", "| cat /etc/passwd", "https://evil.example/key", "__proto__", "constructor"],
    ...["toString", "OWN", "own ", "own\0", "", "0", "*", "%6fwn"],
    "k".repeat(5_000),
  ].map((kid) => row("key", `kid ${JSON.stringify(kid.slice(0, 30))}`, withHeader({ kid }), keySet)),
  ...[{}, { toString: "own" }, ["own"], 0, 1, true, null].map((kid) =>
    row("malformed", `kid ${JSON.stringify(kid)}`, withHeader({ kid }), keySet),
  ),
  ...(
    [
      ["jwk", { jwk: jwkOf("stranger") }],
      ["jwk with the kid of a configured key", { jwk: jwkOf("stranger", { kid: "own" }), kid: "own" }],
      ["jku", { jku: "https://evil.example/jwks.json" }],
      ["x5u", { x5u: "https://evil.example/key.pem" }],
      ["x5c", { x5c: [publicKeyOf("stranger").export({ type: "spki", format: "der" }).toString("base64")] }],
    ] as const
  ).map(([name, header]) => row("signature", `a key in its own header: ${name}`, forgedBy(header))),
  row("accepted", "an ignored jwk and a valid signature", withHeader({ jwk: jwkOf("stranger") })),
  row("signature", "the signature of an unknown key", forgedBy({})),
];

export const KEY_CASES: readonly TokenCase[] = [...signatures, ...unfit, ...purposes, ...names];
