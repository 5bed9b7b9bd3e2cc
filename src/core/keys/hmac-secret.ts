import { createPublicKey, type KeyObject, webcrypto, X509Certificate } from "node:crypto";
import { orUndefined } from "../errors.ts";
import { type Algorithm, hashBytes } from "./algorithm.ts";
import { type ImportedKey, type KeyMaterial, keyMistake, type VerificationKey } from "./verification-key.ts";

/** Imports an HMAC secret for some of the HS* algorithms. */
export function importHmacSecret(key: KeyObject, algorithms: readonly Algorithm[]): ImportedKey {
  const secret = key.export();
  const names = algorithms.join(", ");
  if (isPublicKey(secret)) {
    const message = `is a PEM, a JWK or another public key, but ${names} requires a secret.`;
    const hint = "Set `algorithm` to the key's algorithm, such as RS256, or pass a secret instead.";
    return keyMistake("key_unusable", message, hint);
  }
  const bytes = Math.max(...algorithms.map(hashBytes));
  const hint = `Use at least ${bytes} random bytes (RFC 7518 section 3.2).`;
  if (secret.byteLength < bytes) return keyMistake("key_weak", `is shorter than the hash of ${names}.`, hint);
  if (PUBLISHED.has(secret.toString().trim())) return keyMistake("key_weak", "is a published example.", hint);
  return { kind: "key", key: { algorithms: new Set(algorithms), material: importOnce(key) } };
}

/**
 * Long enough, but published: examples of this project's earlier documentation, and of jwt.io. Attackers try
 * them first. The list stays short, because no list replaces a random secret.
 */
const PUBLISHED: ReadonlySet<string> = new Set([
  "at least 32 characters that nobody can guess",
  "not a secret, but thirty-two bytes long",
  "a-string-secret-at-least-256-bits-long",
  "a-valid-string-secret-that-is-at-least-384-bits-long",
  "a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long",
]);

/** Imports a secret on first use, once per algorithm. Later calls return the key without a promise. */
function importOnce(key: KeyObject): VerificationKey["material"] {
  const imported = new Map<Algorithm, KeyMaterial | Promise<KeyMaterial>>();
  const importFor = async (algorithm: Algorithm) => {
    const hmac = { name: "HMAC", hash: `SHA-${algorithm.slice(2)}` };
    const material = await webcrypto.subtle.importKey("raw", key.export(), hmac, false, ["verify"]);
    imported.set(algorithm, material);
    return material;
  };
  return (algorithm) => {
    const material = imported.get(algorithm) ?? importFor(algorithm);
    imported.set(algorithm, material);
    return material;
  };
}

/**
 * Returns whether the bytes of a secret are an asymmetric key: PEM, DER, JWK or SSH, plain, in base64 or in
 * hexadecimal (`30:82:...`, `0x3082...`). With such a secret, anyone who knows the public key could sign
 * tokens (RFC 8725 section 2.1).
 */
function isPublicKey(secret: Buffer): boolean {
  const text = secret.toString("latin1");
  const digits = text.replace(/^\s*0x|[\s:]/gi, "");
  return [secret, Buffer.from(text, "base64"), Buffer.from(digits, "hex")].some(
    (bytes) => /-----BEGIN |"kty"\s*:|^\s*(?:ssh-|ecdsa-)/.test(bytes.toString("latin1")) || isDer(bytes),
  );
}

const isDer = (bytes: Buffer): boolean =>
  orUndefined(() => new X509Certificate(bytes)) !== undefined ||
  (["spki", "pkcs1"] as const).some(
    (type) => orUndefined(() => createPublicKey({ key: bytes, format: "der", type })) !== undefined,
  );
