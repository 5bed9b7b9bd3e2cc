import { createPublicKey, createSecretKey, type KeyObject, randomBytes, webcrypto } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import type { Algorithm, VerificationKeyInput } from "scopegate";
import type { JsonWebKey } from "../../../src/core/keys/verification-key.ts";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
import { CERTIFICATE, TOKEN_OF_CERTIFICATE } from "../../support/certificate.ts";
import { createIssuer, type IssuerAlgorithm } from "../../support/issuer.ts";
import { encode, signRaw } from "../../support/raw-token.ts";
import { configurationErrorOf, createServer, issuer, verdictOf } from "../../support/resource-servers.ts";

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

describe.each(asymmetric)("a key for %s", (algorithm) => {
  const signer = createIssuer({ algorithm });

  it("accepts every form", async () => {
    const token = await signer.token();
    const forms: readonly VerificationKeyInput[] = [
      signer.publicPem,
      signer.publicPem.replaceAll("\n", "\\n"),
      signer.publicJwk,
      JSON.stringify(signer.publicJwk),
      signer.publicKey,
      await importCryptoKey(signer.publicKey, algorithm),
      await importCryptoKey(signer.publicKey, algorithm, true),
    ];
    for (const form of forms) expect(await verdictBy(form, token, algorithm)).toBe("accepted");
  });

  it("rejects every form of the private key", async () => {
    const { privateKey } = signer;
    const jwk = privateKey.export({ format: "jwk" });
    const pkcs8 = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const cryptoKey = await webcrypto.subtle.importKey(
      "pkcs8",
      privateKey.export({ type: "pkcs8", format: "der" }),
      cryptoAlgorithm(algorithm),
      true,
      ["sign"],
    );
    const forms: readonly unknown[] = [
      pkcs8,
      pkcs8.replaceAll("\n", "\\n"),
      ` \ufeff${pkcs8}`.trim(),
      privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }),
      jwk,
      JSON.stringify(jwk),
      privateKey,
      cryptoKey,
    ];
    for (const form of forms) {
      expectMistake("key_private", form, { algorithm }, "public key only");
    }
  });
});

describe("a private key", () => {
  const ec = createIssuer({ algorithm: "ES256" });
  const secret = issuer.privateKey.export({ type: "pkcs8", format: "pem" }).toString();

  it.each([
    ["as PKCS#1", issuer.privateKey.export({ type: "pkcs1", format: "pem" }), {}],
    ["as SEC 1", ec.privateKey.export({ type: "sec1", format: "pem" }), { algorithm: "ES256" }],
    ["of OpenSSH", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", {}],
    ["after a public key", pem + secret, {}],
    ["on one line", secret.replaceAll("\n", ""), {}],
    ["in quotes", `"${secret}"`, {}],
    ["in base64", Buffer.from(secret).toString("base64"), {}],
  ])("rejects it in this form: %s", (_, key, options) => expectMistake("key_private", key, options));
});

describe("an HMAC secret", () => {
  const secrets = { HS256: "s".repeat(32), HS384: "s".repeat(48), HS512: "s".repeat(64) } as const;

  it.each(["HS256", "HS384", "HS512"] as const)("accepts every form for %s", async (algorithm) => {
    const secret = secrets[algorithm];
    const key = createSecretKey(secret, "utf8");
    const token = await new SignJWT({ scopes: [], aud: "agents-prod" })
      .setProtectedHeader({ alg: algorithm })
      .sign(key);
    const forms: readonly VerificationKeyInput[] = [
      secret,
      key,
      { kty: "oct", k: encode(secret) },
      { kty: "oct", k: encode(secret), alg: algorithm, use: "sig" },
      await webcrypto.subtle.importKey("raw", key.export(), cryptoAlgorithm(algorithm), false, ["verify"]),
    ];
    for (const form of forms) expect(await verdictBy(form, token, algorithm)).toBe("accepted");
  });

  it.each([
    ["HS256", 31],
    ["HS384", 47],
    ["HS512", 63],
  ] as const)("requires more bytes for %s than %i (RFC 7518 section 3.2)", async (algorithm, bytes) => {
    const secret = "s".repeat(bytes);
    const forms: readonly unknown[] = [
      secret,
      createSecretKey(secret, "utf8"),
      { kty: "oct", k: encode(secret) },
      await webcrypto.subtle.importKey("raw", Buffer.from(secret), cryptoAlgorithm(algorithm), true, [
        "verify",
      ]),
    ];
    for (const form of forms) {
      expectMistake("key_weak", form, { algorithm }, `at least ${bytes + 1} random bytes`);
    }
  });

  it("measures the secret in bytes and does not trim it", async () => {
    const secret = " é\\n".repeat(7);
    expect(Buffer.byteLength(secret)).toBe(35);
    const token = signRaw('{"alg":"HS256"}', PAYLOAD, createSecretKey(secret, "utf8"));
    expect(await verdictBy(secret, token, "HS256")).toBe("accepted");
    expect(await verdictBy(secret.replaceAll("\\n", "\n\n"), token, "HS256")).toBe("signature");
    expect(await verdictBy(`${secret} `, token, "HS256")).toBe("signature");
  });

  it.each([{ kty: "oct" }, { kty: "oct", k: 5 as never }])("rejects a JWK without a secret: %j", (jwk) => {
    expectMistake("key_weak", jwk, { algorithm: "HS256" });
  });

  it.each([
    ["HS256", "at least 32 characters that nobody can guess"],
    ["HS256", "not a secret, but thirty-two bytes long"],
    ["HS256", "your-256-bit-secret"],
    ["HS256", "a-string-secret-at-least-256-bits-long"],
    ["HS384", "a-valid-string-secret-that-is-at-least-384-bits-long"],
    ["HS512", "a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long"],
  ])("rejects for %s the published secret %j", (algorithm, secret) => {
    // A file usually ends with a line break.
    for (const read of [secret, `${secret}\n`]) {
      const jwk = { kty: "oct", k: encode(read) };
      for (const form of [read, createSecretKey(read, "utf8"), jwk])
        expectMistake("key_weak", form, { algorithm });
    }
  });

  it("accepts a random secret in hexadecimal", () => {
    const secret = randomBytes(64).toString("hex");
    expect(() => createServer({ algorithm: "HS512", verificationKeys: [secret] })).not.toThrow();
  });

  it("requires the length of the longest allowed hash", () => {
    const options = { algorithms: ["HS256", "HS512"] };
    expectMistake("key_weak", "s".repeat(63), options);
    expect(() =>
      createServer({ algorithms: ["HS256", "HS512"], verificationKeys: ["s".repeat(64)] }),
    ).not.toThrow();
  });

  it.each<readonly [string, unknown]>([
    ["a PEM in base64", base64Pem],
    ["a PEM in a JWK", { kty: "oct", k: encode(pem) }],
    [
      "a PKCS#1 DER in a JWK",
      { kty: "oct", k: encode(issuer.publicKey.export({ type: "pkcs1", format: "der" })) },
    ],
    ["a DER in hexadecimal", der],
    ["a DER in upper-case hexadecimal with line breaks", der.toUpperCase().replace(/.{64}/g, "$&\n")],
    ["a DER in hexadecimal with colons", der.replace(/..(?=.)/g, "$&:")],
    ["a DER in hexadecimal with 0x", `0x${der}`],
    [
      "a PKCS#1 DER in hexadecimal",
      issuer.publicKey.export({ type: "pkcs1", format: "der" }).toString("hex"),
    ],
    ["a PEM in hexadecimal", Buffer.from(pem).toString("hex")],
    ["an SSH key", `ssh-rsa ${"A".repeat(64)} user@host`],
    ["a public KeyObject", issuer.publicKey],
    ["a public JWK", { ...issuer.publicJwk, alg: undefined }],
  ])("rejects %s as a secret (RFC 8725 section 2.1)", (_, key) => {
    for (const algorithm of ["HS256", "HS384", "HS512"]) expectMistake("key_unusable", key, { algorithm });
  });

  it.each<readonly [string, unknown]>([
    ["a KeyObject", createSecretKey("s".repeat(64), "utf8")],
    ["a JWK", { kty: "oct", k: encode("s".repeat(64)) }],
  ])("rejects %s when an asymmetric algorithm is expected", (_, key) => {
    expectMistake("key_unusable", key, {}, "`algorithm`");
  });
});

/** An RSA key with arbitrary numbers; the tests do not sign with it. */
const rsaJwk = (modulusBits: number, exponent: number, modulus = (1n << BigInt(modulusBits - 1)) | 1n) => {
  const hex = (value: bigint | number) => value.toString(16).replace(/^(?=(?:..)*.$)/, "0");
  return {
    kty: "RSA",
    n: Buffer.from(hex(modulus), "hex").toString("base64url"),
    e: Buffer.from(hex(exponent), "hex").toString("base64url"),
  };
};

/** A JWK in every form of a key. */
async function formsOf(jwk: ReturnType<typeof rsaJwk>): Promise<readonly unknown[]> {
  const key = createPublicKey({ key: jwk, format: "jwk" });
  return [
    jwk,
    JSON.stringify(jwk),
    key,
    key.export({ type: "spki", format: "pem" }),
    key.export({ type: "pkcs1", format: "pem" }),
    await importCryptoKey(key, "RS256"),
  ];
}

describe("an RSA key", () => {
  it.each([1024, 2047])("rejects %i bits (RFC 7518 section 3.3)", async (bits) => {
    for (const form of await formsOf(rsaJwk(bits, 65_537))) {
      expectMistake("key_weak", form, {}, "2048 bits");
    }
  });

  it.each([1, 2, 4, 256, 65_536])("rejects the exponent %i", async (exponent) => {
    for (const form of await formsOf(rsaJwk(2048, exponent)).catch(() => [rsaJwk(2048, exponent)])) {
      expectMistake(/^key_(weak|invalid)$/, form);
    }
  });

  it.each([
    [2048, 3],
    [2048, 65_537],
    [2049, 17],
    [4096, 65_537],
  ])("accepts %i bits with the exponent %i", async (bits, exponent) => {
    for (const form of await formsOf(rsaJwk(bits, exponent))) {
      const options = { algorithm: "RS256", verificationKeys: [form as VerificationKeyInput] } as const;
      expect(() => createServer(options)).not.toThrow();
    }
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

  it.each([0n, 1n, 2n, 1_000_003n])(
    "rejects a modulus that is 65537 ** %i modulo the small primes (CVE-2017-15361)",
    async (exponent) => {
      for (const form of await formsOf(rsaJwk(2048, 65_537, withRemainder(65_537n ** (exponent % 97n)))))
        expectMistake("key_weak", form, {}, "CVE-2017-15361");
    },
  );

  it.each([11n, 13n, 17n, 19n, 37n, 53n, 61n, 71n, 73n, 79n, 97n, 103n, 107n, 109n, 127n, 151n, 157n])(
    "accepts a modulus that is not a power of 65537 modulo the prime %i alone",
    (prime) => {
      const powers = new Set(
        [...Array(Number(prime)).keys()].map((power) => 65_537n ** BigInt(power) % prime),
      );
      let remainder = 1n;
      // Every other prime divides the added number.
      while (powers.has(remainder % prime)) remainder += product / prime;
      const key = rsaJwk(2048, 65_537, withRemainder(remainder));
      expect(() => createServer({ algorithm: "RS256", verificationKeys: [key] })).not.toThrow();
    },
  );
});

describe("a JWK for Ed25519", () => {
  it.each([
    ["EdDSA", "Ed25519"],
    ["Ed25519", "EdDSA"],
  ] as const)("verifies %s if its `alg` is %s, the other name of the algorithm", async (algorithm, alg) => {
    const signer = createIssuer({ algorithm });
    const server = createServer({ algorithm, verificationKeys: [{ ...signer.publicJwk, alg }] });
    expect(await verdictOf(server, await signer.token())).toBe("accepted");
  });
});

describe("a key of the wrong type for the algorithm", () => {
  const publicOf = (algorithm: IssuerAlgorithm) => createIssuer({ algorithm }).publicPem;
  const generated = (type: string, options?: object) =>
    createPublicKey(generateKey(type, options)).export({ type: "spki", format: "pem" }).toString();

  it.each([
    ["an RSA key", publicOf("RS256"), ["ES512", "EdDSA", "Ed25519"]],
    ["a P-256 key", publicOf("ES256"), ["PS512", "ES512", "Ed25519"]],
    ["a P-384 key", publicOf("ES384"), ["RS256", "EdDSA"]],
    ["a P-521 key", publicOf("ES512"), ["RS256", "EdDSA"]],
    ["an Ed25519 key", publicOf("EdDSA"), ["RS256", "ES384", "ES512"]],
    ["a secp256k1 key", generated("ec", { namedCurve: "secp256k1" }), ["RS256", "ES384", "EdDSA"]],
    ["an Ed448 key", generated("ed448"), ["Ed25519", "ES256"]],
    ["an X25519 key", generated("x25519"), ["Ed25519", "ES256"]],
  ])("rejects %s", (_, key, algorithms) => {
    for (const algorithm of algorithms) {
      expectMistake("key_unusable", key, { algorithm }, "`algorithm`");
    }
  });

  it("supports only the allowed algorithms that match its type", async () => {
    const signer = createIssuer({ algorithm: "ES256" });
    const server = createServer({ algorithms: ["ES256", "ES384"], verificationKeys: [signer.publicPem] });
    expect(await verdictOf(server, await signer.token())).toBe("accepted");
    expect(await verdictOf(server, await createIssuer({ algorithm: "ES384" }).token())).toBe("key");
  });
});

describe("the alg, use and key_ops of a JWK", () => {
  const jwk = (members: object): JsonWebKey => {
    const { alg, ...bare } = issuer.publicJwk;
    return { ...bare, ...members, kty: "RSA" };
  };

  it.each([
    { use: "" },
    { use: null },
    { key_ops: ["sign"] },
    { key_ops: null },
    { alg: "rs256" },
    { alg: null },
    { alg: ["RS256"] },
    { use: "enc", key_ops: ["verify"] },
  ])("reject RS256 with %j (RFC 7517 sections 4.2 to 4.4)", (members) => {
    expectMistake("key_unusable", jwk(members));
  });
});

describe("the algorithm and usages of a CryptoKey", () => {
  it("require a match with the allowed algorithm", async () => {
    for (const other of ["RS384", "RS512", "PS256"] as const) {
      expectMistake("key_unusable", await importCryptoKey(issuer.publicKey, other));
    }
    const encryption = await webcrypto.subtle.importKey(
      "spki",
      issuer.publicKey.export({ type: "spki", format: "der" }),
      { name: "RSA-OAEP", hash: "SHA-256" },
      false,
      ["encrypt"],
    );
    expectMistake("key_unusable", encryption);
  });

  it("require verify", async () => {
    const secret = Buffer.alloc(32, "s");
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const signing = await webcrypto.subtle.importKey("raw", secret, hmac, false, ["sign"]);
    expectMistake("key_unusable", signing, { algorithm: "HS256" });
    const useless = await webcrypto.subtle.importKey(
      "spki",
      issuer.publicKey.export({ type: "spki", format: "der" }),
      cryptoAlgorithm("RS256"),
      false,
      [],
    );
    expectMistake("key_unusable", useless);
  });

  it("limit an HMAC key to its hash", async () => {
    const hmac = { name: "HMAC", hash: "SHA-512" };
    const key = await webcrypto.subtle.importKey("raw", Buffer.alloc(64, "s"), hmac, false, ["verify"]);
    expectMistake("key_unusable", key, { algorithm: "HS256" });
  });
});
