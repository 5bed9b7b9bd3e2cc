import { createSecretKey, type KeyObject, randomBytes, webcrypto } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import type { Algorithm, VerificationKeyInput } from "scopegate";
import { CERTIFICATE, TOKEN_OF_CERTIFICATE } from "../../support/certificate.ts";
import { createIssuer, type IssuerAlgorithm } from "../../support/issuer.ts";
import { encode, signRaw } from "../../support/raw-token.ts";
import {
  configurationErrorOf,
  createServer,
  issuer,
  starts,
  verdictOf,
} from "../../support/resource-servers.ts";

const PAYLOAD = '{"scopes":[],"aud":"agents-prod","sub":"user-1"}';

/** The verdict of a server with this single key on a token. */
const verdictBy = (key: VerificationKeyInput, token: string, algorithm: Algorithm = "RS256") =>
  verdictOf(createServer({ algorithm, verificationKeys: [key] }), token);

/** Expects a single mistake in a key, with this code and this part of the hint. */
function expectMistake(code: string | RegExp, key: unknown, options: object = {}, hint = ""): void {
  const { issues } = configurationErrorOf({ serviceId: "agents-prod", verificationKeys: [key], ...options });
  expect(issues.map(({ path }) => path)).toEqual([["verificationKeys", 0]]);
  expect(issues[0]?.code).toMatch(code);
  expect(issues[0]?.hint).toContain(hint);
}

const pem = issuer.publicPem;
const pkcs1 = issuer.publicKey.export({ type: "pkcs1", format: "pem" }).toString();
const der = issuer.publicKey.export({ type: "spki", format: "der" }).toString("hex");

const escapedPem = pem.replaceAll("\n", "\\n");
const base64Pem = Buffer.from(pem).toString("base64");

// `test/security/tokens` has more keys that fit and that do not.

describe("a key as a string", () => {
  it.each([
    ["a PKCS#1 PEM", pkcs1],
    ["a PKCS#1 PEM with literal line breaks", pkcs1.replaceAll("\n", "\\n")],
    ["a PEM without a line break at its end", pem.trimEnd()],
    ["a PEM with CRLF", pem.replaceAll("\n", "\r\n")],
    ["a PEM with a byte order mark and spaces", `\ufeff  ${pem}  `],
    ["a PEM in one line", pem.replaceAll("\n", "")],
    ["a PEM with spaces for line breaks", pem.replaceAll("\n", " ")],
    ["an indented PEM", pem.replaceAll("\n", "\n    ")],
    ["a PEM in double quotes", `"${pem}"`],
    ["a PEM in single quotes", `'${pem.trim()}'`],
    ["a PEM with line breaks that are escaped twice", pem.replaceAll("\n", "\\\\n")],
    ["a PEM with escaped line breaks, in quotes", `"${escapedPem}"`],
    ["a PEM in base64", base64Pem],
    ["a PEM in base64 with line breaks", base64Pem.replace(/.{76}/g, "$&\n")],
    ["a JWK with a byte order mark and line breaks", `\ufeff\n${JSON.stringify(issuer.publicJwk)}\n`],
  ])("accepts %s", async (_, text) => {
    expect(await verdictBy(text, await issuer.token())).toBe("accepted");
  });

  it("accepts an X.509 certificate", async () => {
    expect(await verdictBy(CERTIFICATE, TOKEN_OF_CERTIFICATE)).toBe("accepted");
    expect(await verdictBy(CERTIFICATE, await issuer.token())).toBe("signature");
  });

  it.each([
    ["a word", "agents"],
    ["a path", "/etc/keys/public.pem"],
    ["a URL", "https://issuer.example/jwks.json"],
    ["a PEM without BEGIN and END lines", pem.replaceAll(/-----[^-]+-----|\n/g, "")],
    ["a truncated PEM", pem.slice(0, -60)],
    ["a PEM without a key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"],
    ["spaces", "   "],
    ["an empty pair of quotes", '""'],
    ["only quotes", "'\""],
    ["base64 of nothing", "AAAA"],
    ["only the BEGIN line of a PEM", "-----BEGIN PUBLIC KEY-----"],
    ["only the BEGIN and END lines of a PEM", "-----BEGIN PUBLIC KEY----------END PUBLIC KEY-----"],
    ["JSON that is not a JWK", "{}"],
    ["broken JSON", '{"kty":"RSA"'],
    ["a JWK without its modulus", '{"kty":"RSA","e":"AQAB"}'],
  ])("rejects %s", (_, text) => {
    expectMistake("key_invalid", text, {}, "PEM");
  });

  it("rejects a JWK Set as JSON and names the option for it", () => {
    expectMistake("key_invalid", JSON.stringify({ keys: [issuer.publicJwk] }), {}, "keys: jwks(set)");
  });

  it("rejects several keys in one string", () => {
    expectMistake(
      "key_invalid",
      pem + createIssuer({ kid: "other" }).publicPem,
      {},
      "Pass each key as a separate entry.",
    );
  });
});

describe("a key as an object", () => {
  it.each([
    {},
    { kty: "RSA" },
    { kty: "RSA", n: "AQAB", e: 5 },
    { kty: "EC", crv: "P-256", x: "AA", y: "AA" },
    { kty: "unknown", x: "AA" },
    { kty: "" },
    { ...issuer.publicJwk, kid: 5 },
    { ...issuer.publicJwk, kid: null },
  ])("rejects an invalid JWK: %j", (jwk) => {
    expectMistake(/^(key|option)_invalid$/, jwk);
  });
});

const asymmetric: readonly IssuerAlgorithm[] = [
  ...(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const),
  ...(["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const),
];

/** The WebCrypto parameters for importing a key for an algorithm. */
function cryptoAlgorithm(algorithm: Algorithm) {
  const hash = `SHA-${algorithm.slice(2)}`;
  const namedCurve = `P-${algorithm.slice(2).replace("512", "521")}`;
  switch (algorithm.slice(0, 2)) {
    case "RS":
      return { name: "RSASSA-PKCS1-v1_5", hash };
    case "PS":
      return { name: "RSA-PSS", hash };
    case "ES":
      return { name: "ECDSA", namedCurve };
    case "HS":
      return { name: "HMAC", hash };
    default:
      return { name: "Ed25519" };
  }
}

const importCryptoKey = (key: KeyObject, algorithm: Algorithm, extractable = false) =>
  webcrypto.subtle.importKey(
    "spki",
    key.export({ type: "spki", format: "der" }),
    cryptoAlgorithm(algorithm),
    extractable,
    ["verify"],
  );

it.each(asymmetric)("accepts every form of a key for %s", async (algorithm) => {
  const { publicPem, publicJwk, publicKey, token } = createIssuer({ algorithm });
  const forms: readonly VerificationKeyInput[] = [
    publicPem,
    publicPem.replaceAll("\n", "\\n"),
    publicJwk,
    JSON.stringify(publicJwk),
    publicKey,
    await importCryptoKey(publicKey, algorithm),
    await importCryptoKey(publicKey, algorithm, true),
  ];
  for (const form of forms) expect(await verdictBy(form, await token(), algorithm)).toBe("accepted");
});

it.each([
  ["EdDSA", "Ed25519"],
  ["Ed25519", "EdDSA"],
] as const)("verifies %s with a JWK whose `alg` is %s, its other name", async (algorithm, alg) => {
  const { publicJwk, token } = createIssuer({ algorithm });
  expect(await verdictBy({ ...publicJwk, alg }, await token(), algorithm)).toBe("accepted");
});

it("uses a key only for those of the allowed algorithms that match its type", async () => {
  const { publicPem, token } = createIssuer({ algorithm: "ES256" });
  const server = createServer({ algorithms: ["ES256", "ES384"], verificationKeys: [publicPem] });
  expect(await verdictOf(server, await token())).toBe("accepted");
  expect(await verdictOf(server, await createIssuer({ algorithm: "ES384" }).token())).toBe("key");
});

const privateCryptoKey = await webcrypto.subtle.importKey(
  "pkcs8",
  issuer.privateKey.export({ type: "pkcs8", format: "der" }),
  cryptoAlgorithm("RS256"),
  true,
  ["sign"],
);

describe("a private key", () => {
  const ec = createIssuer({ algorithm: "ES256" });
  const ed = createIssuer({ algorithm: "EdDSA" });
  const { privateKey } = issuer;
  const jwk = privateKey.export({ format: "jwk" });
  const secret = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const encryption = { cipher: "aes-256-cbc", passphrase: "x" } as const;
  it.each<readonly [string, unknown, object]>([
    ["a PEM", secret, {}],
    ["a PEM with literal line breaks", secret.replaceAll("\n", "\\n"), {}],
    ["a PEM with a byte order mark", `\ufeff${secret}`, {}],
    ["a PEM on one line", secret.replaceAll("\n", ""), {}],
    ["a PEM in quotes", `"${secret}"`, {}],
    ["a PEM in base64", Buffer.from(secret).toString("base64"), {}],
    ["a PEM after a public key", pem + secret, {}],
    ["an encrypted PEM", privateKey.export({ type: "pkcs8", format: "pem", ...encryption }), {}],
    ["a PEM of OpenSSH", "-----BEGIN OPENSSH PRIVATE KEY-----\nAA\n-----END OPENSSH PRIVATE KEY-----\n", {}],
    ["a PKCS#1 PEM", privateKey.export({ type: "pkcs1", format: "pem" }), {}],
    ["a SEC 1 PEM", ec.privateKey.export({ type: "sec1", format: "pem" }), { algorithm: "ES256" }],
    ["a JWK", jwk, {}],
    ["a JWK as JSON", JSON.stringify(jwk), {}],
    ["an EC JWK", ec.privateKey.export({ format: "jwk" }), { algorithm: "ES256" }],
    ["an Ed25519 JWK", ed.privateKey.export({ format: "jwk" }), { algorithm: "EdDSA" }],
    ["a KeyObject", privateKey, {}],
    ["a CryptoKey", privateCryptoKey, {}],
  ])("is rejected as %s", (_, key, options) => {
    expectMistake("key_private", key, options, "public key only");
  });
});

describe("an HMAC secret", () => {
  const importHmac = (secret: string | Buffer, algorithm: Algorithm, usage: "sign" | "verify" = "verify") =>
    webcrypto.subtle.importKey("raw", Buffer.from(secret), cryptoAlgorithm(algorithm), false, [usage]);

  it.each(["HS256", "HS384", "HS512"] as const)("is accepted in every form for %s", async (algorithm) => {
    const secret = "s".repeat(Number(algorithm.slice(2)) / 8);
    const key = createSecretKey(secret, "utf8");
    const token = await new SignJWT({ scopes: [], aud: "agents-prod" })
      .setProtectedHeader({ alg: algorithm })
      .sign(key);
    const forms: readonly VerificationKeyInput[] = [
      secret,
      key,
      { kty: "oct", k: encode(secret) },
      { kty: "oct", k: encode(secret), alg: algorithm, use: "sig" },
      await importHmac(secret, algorithm),
    ];
    for (const form of forms) expect(await verdictBy(form, token, algorithm)).toBe("accepted");
  });

  it("is measured in bytes and not trimmed", async () => {
    const secret = " é\\n".repeat(7);
    expect(Buffer.byteLength(secret)).toBe(35);
    const token = signRaw('{"alg":"HS256"}', PAYLOAD, createSecretKey(secret, "utf8"));
    expect(await verdictBy(secret, token, "HS256")).toBe("accepted");
    expect(await verdictBy(secret.replaceAll("\\n", "\n\n"), token, "HS256")).toBe("signature");
    expect(await verdictBy(`${secret} `, token, "HS256")).toBe("signature");
  });

  it("must have the length of the longest allowed hash", () => {
    const options = { algorithms: ["HS256", "HS512"] } as const;
    expectMistake("key_weak", "s".repeat(63), options, "at least 64 random bytes");
    expect(starts({ ...options, verificationKeys: ["s".repeat(64)] })).toBe(true);
    expect(starts({ algorithm: "HS512", verificationKeys: [randomBytes(64).toString("hex")] })).toBe(true);
  });

  it.each([{ kty: "oct" }, { kty: "oct", k: 5 as never }])("must be in its JWK: %j", (jwk) => {
    expectMistake("key_weak", jwk, { algorithm: "HS256" });
  });

  it.each([
    ["HS256", "at least 32 characters that nobody can guess"],
    ["HS256", "not a secret, but thirty-two bytes long"],
    ["HS256", "a-string-secret-at-least-256-bits-long"],
    ["HS384", "a-valid-string-secret-that-is-at-least-384-bits-long"],
    ["HS512", "a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long"],
  ])("may not be published, as for %s %j", (algorithm, secret) => {
    // A file usually ends with a line break.
    for (const form of [secret, `${secret}\n`, { kty: "oct", k: encode(secret) }])
      expectMistake("key_weak", form, { algorithm });
  });

  const pkcs1Der = issuer.publicKey.export({ type: "pkcs1", format: "der" });
  it.each<readonly [string, unknown]>([
    ["a PEM", pem],
    ["a PEM in base64", base64Pem],
    ["a PEM in hexadecimal", Buffer.from(pem).toString("hex")],
    ["a PEM in a JWK", { kty: "oct", k: encode(pem) }],
    ["a PKCS#1 DER in a JWK", { kty: "oct", k: encode(pkcs1Der) }],
    ["a PKCS#1 DER in hexadecimal", pkcs1Der.toString("hex")],
    ["a DER in hexadecimal", der],
    ["a DER in upper-case hexadecimal with line breaks", der.toUpperCase().replace(/.{64}/g, "$&\n")],
    ["a DER in hexadecimal with colons", der.replace(/..(?=.)/g, "$&:")],
    ["a DER in hexadecimal with 0x", `0x${der}`],
    ["an X.509 certificate", CERTIFICATE],
    ["an SSH key", `ssh-rsa ${"A".repeat(64)} user@host`],
    ["an SSH key of an elliptic curve", `ecdsa-sha2-nistp256 ${"A".repeat(64)} user@host`],
    ["a PEM of an elliptic curve", createIssuer({ algorithm: "ES256" }).publicPem],
    ["a JWK of an elliptic curve as JSON", JSON.stringify(createIssuer({ algorithm: "ES256" }).publicJwk)],
    ["a PEM after a tab", `\t${pem}`],
    ["a DER in base64", Buffer.from(der, "hex").toString("base64")],
    ["a DER as KeyObject", createSecretKey(Buffer.from(der, "hex"))],
    ["a public KeyObject", issuer.publicKey],
    ["a public JWK", { ...issuer.publicJwk, alg: undefined }],
  ])("may not be %s (RFC 8725 section 2.1)", (_, key) => {
    for (const algorithm of ["HS256", "HS384", "HS512"]) expectMistake("key_unusable", key, { algorithm });
  });

  it("may not be a key for an asymmetric algorithm", () => {
    for (const key of [createSecretKey("s".repeat(64), "utf8"), { kty: "oct", k: encode("s".repeat(64)) }])
      expectMistake("key_unusable", key, {}, "`algorithm`");
  });

  it("is limited as a CryptoKey to its hash, and to the usage verify", async () => {
    const algorithm = { algorithm: "HS256" };
    expectMistake("key_unusable", await importHmac(Buffer.alloc(64, "s"), "HS512"), algorithm);
    expectMistake("key_unusable", await importHmac(Buffer.alloc(32, "s"), "HS256", "sign"), algorithm);
  });
});

describe("an RSA key", () => {
  /** A key with arbitrary numbers; the tests do not sign with it. */
  const rsaJwk = (bits: number, exponent: number, modulus = (1n << BigInt(bits - 1)) | 1n) => {
    const hex = (value: bigint | number) => value.toString(16).replace(/^(?=(?:..)*.$)/, "0");
    const encoded = (value: bigint | number) => Buffer.from(hex(value), "hex").toString("base64url");
    return { kty: "RSA", n: encoded(modulus), e: encoded(exponent) };
  };

  it.each([
    [2047, 65_537, false],
    [2048, 65_537, true],
    [2049, 17, true],
    [4096, 65_537, true],
    [2048, 3, true],
    [2048, 1, false],
    [2048, 4, false],
    [2048, 65_536, false],
  ])("of %i bits with the exponent %i is accepted: %j", (bits, exponent, expected) => {
    expect(starts({ verificationKeys: [rsaJwk(bits, exponent)] })).toBe(expected);
  });

  /** The odd primes up to 167, and a number of 2048 bits with this remainder modulo all of them. */
  const product = [...Array(168).keys()]
    .filter(
      (number) => number > 2 && [2, 3, 5, 7, 11].every((prime) => number === prime || number % prime > 0),
    )
    .reduce((total, prime) => total * BigInt(prime), 1n);
  const withRemainder = (remainder: bigint) => {
    const multiple = ((1n << 2047n) / product + 1n) * product;
    return (multiple + remainder) % 2n === 1n ? multiple + remainder : multiple + product + remainder;
  };

  it.each([0n, 1n, 2n, 30n])(
    "is rejected with a modulus that is 65537 ** %i modulo the small primes (CVE-2017-15361)",
    (exponent) => {
      const key = rsaJwk(2048, 65_537, withRemainder(65_537n ** exponent));
      expectMistake("key_weak", key, {}, "CVE-2017-15361");
    },
  );

  it.each([11n, 13n, 17n, 19n, 37n, 53n, 61n, 71n, 73n, 79n, 97n, 103n, 107n, 109n, 127n, 151n, 157n])(
    "is accepted with a modulus that is not a power of 65537 modulo the prime %i alone",
    (prime) => {
      const powers = new Set(
        [...Array(Number(prime)).keys()].map((power) => 65_537n ** BigInt(power) % prime),
      );
      let remainder = 1n;
      // Every other prime divides the added number.
      while (powers.has(remainder % prime)) remainder += product / prime;
      expect(starts({ verificationKeys: [rsaJwk(2048, 65_537, withRemainder(remainder))] })).toBe(true);
    },
  );
});

it.each([
  { use: "" },
  { use: null },
  { key_ops: ["sign"] },
  { key_ops: null },
  { alg: "rs256" },
  { alg: null },
])("rejects a JWK for RS256 with %j (RFC 7517 sections 4.2 to 4.4)", (properties) => {
  expectMistake("key_unusable", { ...issuer.publicJwk, alg: undefined, ...properties });
});

it("rejects a CryptoKey of another algorithm or hash, or without the usage verify", async () => {
  const spki = issuer.publicKey.export({ type: "spki", format: "der" });
  const encryption = { name: "RSA-OAEP", hash: "SHA-256" };
  const keys = [
    await importCryptoKey(issuer.publicKey, "RS384"),
    await importCryptoKey(issuer.publicKey, "PS256"),
    await webcrypto.subtle.importKey("spki", spki, encryption, false, ["encrypt"]),
    await webcrypto.subtle.importKey("spki", spki, cryptoAlgorithm("RS256"), false, []),
  ];
  for (const key of keys) expectMistake("key_unusable", key);
});
