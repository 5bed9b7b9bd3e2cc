import {
  createPublicKey,
  createSecretKey,
  type JsonWebKey as CryptoJsonWebKey,
  KeyObject,
  type webcrypto,
} from "node:crypto";
import { types } from "node:util";
import { orUndefined } from "../errors.ts";
import { type Algorithm, isSymmetric, isKeyFor } from "./algorithm.ts";
import { importHmacSecret } from "./hmac-secret.ts";
import { hasLowOrder } from "./low-order.ts";
import { hasRocaFingerprint } from "./roca.ts";
import {
  type ImportedKey,
  type JsonWebKey,
  keyMistake,
  type VerificationKeyInput,
} from "./verification-key.ts";

/** Imports one key for the allowed algorithms. */
export function importKey(input: VerificationKeyInput, algorithms: readonly Algorithm[]): ImportedKey {
  if (typeof input === "string") {
    if (!algorithms.some(isSymmetric)) return importString(input, algorithms);
    return importKeyObject(createSecretKey(input, "utf8"), algorithms);
  }
  if (types.isKeyObject(input)) return importKeyObject(input, algorithms);
  if (types.isCryptoKey(input)) return importCryptoKey(input, algorithms);
  return importJwk(input, algorithms);
}

/** Imports a JWK for the algorithms its `use`, `key_ops` and `alg` allow (RFC 7517 sections 4.2 to 4.4). */
export function importJwk(jwk: JsonWebKey, algorithms: readonly Algorithm[]): ImportedKey {
  if (typeof (jwk as unknown) !== "object" || (jwk as unknown) === null || typeof jwk.kty !== "string")
    return invalidKey("isn't a JWK: it has no `kty`.");
  const { kid } = jwk;
  if (kid !== undefined && typeof kid !== "string") return invalidKey("has a `kid` that isn't a string.");
  if (PRIVATE_PROPERTIES.some((name) => (jwk as Record<string, unknown>)[name] !== undefined)) return PRIVATE;
  const allowed = algorithms.filter((algorithm) => isAllowedBy(jwk, algorithm));
  if (allowed.length === 0)
    return unusableKey(
      `is a JWK whose \`alg\`, \`use\` or \`key_ops\` doesn't allow ${algorithms.join(", ")}`,
    );
  const key = orUndefined(() =>
    jwk.kty === "oct"
      ? createSecretKey(Buffer.from(typeof jwk.k === "string" ? jwk.k : "", "base64url"))
      : createPublicKey({ key: { ...jwk } as CryptoJsonWebKey, format: "jwk" }),
  );
  if (!key) return invalidKey("isn't a valid JWK.");
  const imported = importKeyObject(key, allowed);
  if (kid === undefined || imported.kind === "mistake") return imported;
  return { kind: "key", key: { ...imported.key, kid } };
}

function importString(input: string, algorithms: readonly Algorithm[]): ImportedKey {
  const text = input
    .replaceAll("\\n", "\n")
    .replace(/^\uFEFF/, "")
    .trim()
    .replace(/^(["'])(.*)\1$/s, "$2");
  if (text.startsWith("{")) {
    const jwk = orUndefined(() => JSON.parse(text) as JsonWebKey);
    if (!jwk) return invalidKey("starts like a JWK but isn't valid JSON.");
    if ("keys" in jwk)
      return invalidKey(
        "is a JWK Set.",
        "Pass it as `keys: jwks(set)`, or its file as `keys: jwksFile(path)`, both of scopegate/keys.",
      );
    return importJwk(jwk, algorithms);
  }
  if (text.includes("PRIVATE KEY-----")) return PRIVATE;
  if (text.split("-----BEGIN ").length > 2)
    return invalidKey("contains several PEM blocks.", "Pass each key as a separate entry.");
  const decoded = Buffer.from(text, "base64").toString("latin1");
  if (decoded.startsWith("-----BEGIN ")) return importString(decoded, algorithms);
  const key = orUndefined(() => createPublicKey(withLineBreaks(text)));
  if (key) return importKeyObject(key, algorithms);
  return invalidKey(
    "is neither a valid PEM nor a valid JWK.",
    "Pass the contents of a PEM file with its BEGIN and END lines, not its path. For a shared secret, set `algorithm` to HS256.",
  );
}

/** Restores the line breaks of a PEM that an environment variable or a YAML file has removed or changed. */
function withLineBreaks(text: string): string {
  const [, label, content] = /-----BEGIN ([A-Z\d ]{1,40})-----(.*?)-----END \1-----/s.exec(text) ?? [];
  if (label === undefined || content === undefined) return text;
  const lines = content.replace(/[\s\\]/g, "").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

function importKeyObject(key: KeyObject, algorithms: readonly Algorithm[]): ImportedKey {
  if (key.type === "private") return PRIVATE;
  const isSecret = key.type === "secret";
  const supported = algorithms.filter((name) => (isSecret ? isSymmetric(name) : isKeyFor(key, name)));
  if (supported.length === 0)
    return unusableKey(`is ${describeKey(key)}, which can't verify ${algorithms.join(", ")}`);
  if (isSecret) return importHmacSecret(key, supported);
  return weaknessOf(key) ?? { kind: "key", key: { algorithms: new Set(supported), material: () => key } };
}

function importCryptoKey(key: webcrypto.CryptoKey, algorithms: readonly Algorithm[]): ImportedKey {
  const imported = importKeyObject(KeyObject.from(key), algorithms);
  if (imported.kind === "mistake") return imported;
  const supported = [...imported.key.algorithms].filter((algorithm) => isImportedFor(key, algorithm));
  if (supported.length > 0)
    return { kind: "key", key: { algorithms: new Set(supported), material: () => key } };
  return unusableKey(`is a CryptoKey whose algorithm or usages do not allow ${algorithms.join(", ")}`);
}

function isImportedFor(key: webcrypto.CryptoKey, algorithm: Algorithm): boolean {
  if (!key.usages.includes("verify")) return false;
  const { name, hash } = key.algorithm as Partial<webcrypto.RsaHashedKeyAlgorithm>;
  if (hash && hash.name !== `SHA-${algorithm.slice(2)}`) return false;
  const family = algorithm.slice(0, 2);
  return name === { RS: "RSASSA-PKCS1-v1_5", PS: "RSA-PSS", ES: "ECDSA", Ed: "Ed25519", HS: "HMAC" }[family];
}

function isAllowedBy({ alg, use, key_ops: operations }: JsonWebKey, algorithm: Algorithm): boolean {
  if (use !== undefined && use !== "sig") return false;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return false;
  return alg === undefined || sharedName(alg) === sharedName(algorithm);
}

/** With the only supported curve, `EdDSA` is `Ed25519` (RFC 9864 section 2.2). */
const sharedName = (algorithm: unknown): unknown => (algorithm === "Ed25519" ? "EdDSA" : algorithm);

/**
 * Rejects keys whose signatures can be forged: RSA keys with a short or ROCA modulus, or with an exponent
 * that is even or below 3, and Ed25519 keys of low order.
 */
function weaknessOf(key: KeyObject): ImportedKey | undefined {
  if (key.asymmetricKeyType === "ed25519" && hasLowOrder(key))
    return keyMistake(
      "key_weak",
      "is an Ed25519 key of low order.",
      "Anyone can sign for it: generate a key with other software.",
    );
  const { modulusLength = Infinity, publicExponent = 3n } = { ...key.asymmetricKeyDetails };
  if (modulusLength < 2048)
    return weakKey(`of ${modulusLength} bits`, "Use at least 2048 bits (RFC 7518 section 3.3).");
  if (publicExponent < 3n || publicExponent % 2n === 0n)
    return weakKey(
      "whose public exponent isn't an odd number of at least 3",
      "Generate a key with the exponent 65537.",
    );
  const n = key.asymmetricKeyType === "rsa" ? modulusOf(key) : undefined;
  if (n === undefined || !hasRocaFingerprint(n)) return undefined;
  return weakKey(
    "that was generated by a broken library",
    "Its private key can be computed from it (CVE-2017-15361): generate a key with other software.",
  );
}

const weakKey = (weakness: string, hint: string): ImportedKey =>
  keyMistake("key_weak", `is an RSA key ${weakness}.`, hint);

/** Reads a copy of the key: Node.js 20 can hang if it exports a key as JWK that it generated itself. */
function modulusOf(key: KeyObject): string | undefined {
  const spki = key.export({ type: "spki", format: "der" });
  return createPublicKey({ key: spki, type: "spki", format: "der" }).export({ format: "jwk" }).n;
}

function describeKey({ type, asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  if (type === "secret") return "a secret";
  return ["a key of type", asymmetricKeyType, asymmetricKeyDetails?.namedCurve].filter(Boolean).join(" ");
}

/** RFC 7518 section 6.3.2, RFC 8037 section 2. The primes alone also reveal the private key. */
const PRIVATE_PROPERTIES = ["d", "p", "q", "dp", "dq", "qi", "oth", "priv"];

const PRIVATE = keyMistake(
  "key_private",
  "is a private key.",
  "Pass the public key only: a server that verifies tokens must not be able to sign them.",
);

const FORMS = "Pass a PEM (SPKI, PKCS#1 or X.509), a JWK, a KeyObject or a CryptoKey.";

export const invalidKey = (message: string, hint = FORMS): ImportedKey =>
  keyMistake("key_invalid", message, hint);

const unusableKey = (message: string): ImportedKey =>
  keyMistake("key_unusable", `${message}.`, "Set `algorithm` to the algorithm of this key.");
