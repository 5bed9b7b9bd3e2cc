import {
  createPublicKey,
  createSecretKey,
  type JsonWebKey as CryptoJsonWebKey,
  KeyObject,
  type webcrypto,
} from "node:crypto";
import { types } from "node:util";
import { attempt } from "../errors.ts";
import { createHmacMaterial } from "./hmac-material.ts";
import { isPublicMaterial } from "./public-material.ts";
import { type Algorithm, hashBytes, isSymmetric, suits } from "./algorithm.ts";
import {
  type JsonWebKey,
  type KeyMistake,
  type VerificationKey,
  type VerificationKeyInput,
} from "./verification-key.ts";

/** Imports one key for the allowed algorithms, or says why it cannot be used. */
export function importKey(
  input: VerificationKeyInput,
  algorithms: readonly Algorithm[],
): VerificationKey | KeyMistake {
  const symmetric = algorithms.some(isSymmetric);
  if (typeof input === "string")
    return symmetric ? importSecret(input, algorithms) : importText(input, algorithms);
  if (types.isKeyObject(input)) return importKeyObject(input, algorithms);
  if (types.isCryptoKey(input)) return importCryptoKey(input, algorithms);
  return importJwk(input, algorithms);
}

/** Imports a JWK, with what it says of its own use (RFC 7517 sections 4.2 to 4.5). */
export function importJwk(jwk: JsonWebKey, algorithms: readonly Algorithm[]): VerificationKey | KeyMistake {
  if (typeof (jwk as unknown) !== "object" || (jwk as unknown) === null || typeof jwk.kty !== "string") {
    return invalid("is not a JWK: it has no `kty`.");
  }
  if (jwk.kid !== undefined && typeof jwk.kid !== "string") return invalid("has a `kid` that is no string.");
  if (PRIVATE_MEMBERS.some((member) => (jwk as Record<string, unknown>)[member] !== undefined))
    return PRIVATE;
  const own = algorithms.filter((algorithm) => isMeantFor(jwk, algorithm));
  if (own.length === 0)
    return unusable(`is a JWK whose alg, use or key_ops rule out ${algorithms.join(", ")}`);
  const key = attempt(() =>
    jwk.kty === "oct"
      ? secretOf(jwk)
      : createPublicKey({ key: { ...jwk } as CryptoJsonWebKey, format: "jwk" }),
  );
  if (!key) return invalid("is not a JWK that can be read.");
  const imported = importKeyObject(key, own);
  return jwk.kid === undefined || !("algorithms" in imported) ? imported : { ...imported, kid: jwk.kid };
}

function importText(text: string, algorithms: readonly Algorithm[]): VerificationKey | KeyMistake {
  const trimmed = text
    .replaceAll("\\n", "\n")
    .replace(/^\uFEFF/, "")
    .trim();
  if (trimmed.startsWith("{")) {
    const jwk = attempt(() => JSON.parse(trimmed) as JsonWebKey);
    if (!jwk) return invalid("begins like a JWK and is not JSON.");
    if ("keys" in jwk)
      return invalid("is a JWK Set.", "Give it as `keys: { jwks }`, or its file as `keys: { jwksFile }`.");
    return importJwk(jwk, algorithms);
  }
  if (trimmed.includes("PRIVATE KEY-----")) return PRIVATE;
  if (trimmed.split("-----BEGIN ").length > 2) {
    return invalid("holds several PEM blocks.", "Give each key as an entry of its own.");
  }
  const key = attempt(() => createPublicKey(trimmed));
  if (key) return importKeyObject(key, algorithms);
  return invalid(
    "is neither a PEM nor a JWK that can be read.",
    "Give the text of a PEM with its BEGIN and END lines, not the name of its file; for a shared secret set `algorithm` to HS256.",
  );
}

const importSecret = (text: string, algorithms: readonly Algorithm[]): VerificationKey | KeyMistake =>
  importKeyObject(createSecretKey(text, "utf8"), algorithms);

function importKeyObject(key: KeyObject, algorithms: readonly Algorithm[]): VerificationKey | KeyMistake {
  if (key.type === "private") return PRIVATE;
  if (key.type === "secret") return importSecretKey(key, algorithms);
  const own = algorithms.filter((algorithm) => suits(key, algorithm));
  if (own.length === 0) return unusable(`is ${describe(key)}, which cannot verify ${algorithms.join(", ")}`);
  return weakness(key) ?? { algorithms: new Set(own), material: () => key };
}

function importSecretKey(key: KeyObject, algorithms: readonly Algorithm[]): VerificationKey | KeyMistake {
  const own = algorithms.filter(isSymmetric);
  if (own.length === 0) return unusable(`is a secret, which cannot verify ${algorithms.join(", ")}`);
  const secret = key.export();
  if (isPublicMaterial(secret)) {
    return {
      code: "key_unusable",
      message: `is a PEM, a JWK or another public key where ${own.join(", ")} takes a secret.`,
      hint: "Set `algorithm` to the one this key signs with, or give the secret itself.",
    };
  }
  const bytes = Math.max(...own.map(hashBytes));
  if (secret.byteLength < bytes) {
    return {
      code: "key_weak",
      message: `is shorter than the hash of ${own.join(", ")}.`,
      hint: `Use at least ${bytes} random bytes (RFC 7518 section 3.2).`,
    };
  }
  return { algorithms: new Set(own), material: createHmacMaterial(key) };
}

function importCryptoKey(
  key: webcrypto.CryptoKey,
  algorithms: readonly Algorithm[],
): VerificationKey | KeyMistake {
  const imported = importKeyObject(KeyObject.from(key), algorithms);
  if (!("algorithms" in imported)) return imported;
  const own = [...imported.algorithms].filter((algorithm) => isImportedFor(key, algorithm));
  if (own.length > 0) return { algorithms: new Set(own), material: () => key };
  return unusable(`is a CryptoKey whose algorithm or usages rule out ${algorithms.join(", ")}`);
}

function isImportedFor(key: webcrypto.CryptoKey, algorithm: Algorithm): boolean {
  if (!key.usages.includes("verify")) return false;
  const { name, hash } = key.algorithm as {
    readonly name: string;
    readonly hash?: { readonly name: string };
  };
  if (hash && hash.name !== `SHA-${algorithm.slice(2)}`) return false;
  const family = algorithm.slice(0, 2);
  return name === { RS: "RSASSA-PKCS1-v1_5", PS: "RSA-PSS", ES: "ECDSA", Ed: "Ed25519", HS: "HMAC" }[family];
}

function isMeantFor({ alg, use, key_ops: operations }: JsonWebKey, algorithm: Algorithm): boolean {
  if (use !== undefined && use !== "sig") return false;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return false;
  return alg === undefined || alg === algorithm;
}

/** Keys whose signatures can be forged: a short modulus, and exponents that make RSA the identity or no permutation. */
function weakness(key: KeyObject): KeyMistake | undefined {
  const { modulusLength, publicExponent } = { ...key.asymmetricKeyDetails };
  if (modulusLength !== undefined && modulusLength < 2048) {
    return {
      code: "key_weak",
      message: `is an RSA key of ${modulusLength} bits.`,
      hint: "Use at least 2048 bits (RFC 7518 section 3.3).",
    };
  }
  if (publicExponent !== undefined && (publicExponent < 3n || publicExponent % 2n === 0n)) {
    return {
      code: "key_weak",
      message: "is an RSA key whose public exponent is not an odd number of 3 or more.",
      hint: "Generate a key with the exponent 65537.",
    };
  }
  return undefined;
}

function secretOf(jwk: JsonWebKey): KeyObject {
  const bytes = typeof jwk.k === "string" ? Buffer.from(jwk.k, "base64url") : Buffer.alloc(0);
  return createSecretKey(bytes);
}

const describe = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string =>
  ["a key of type", asymmetricKeyType, asymmetricKeyDetails?.namedCurve].filter(Boolean).join(" ");

/** RFC 7518 section 6.3.2, RFC 8037 section 2; the primes alone give the key away as well. */
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "priv"];

const PRIVATE: KeyMistake = {
  code: "key_private",
  message: "is a private key.",
  hint: "Give the public key only: a server that verifies must not be able to sign.",
};

function invalid(
  message: string,
  hint = "Give a PEM (SPKI, PKCS#1 or X.509), a JWK, a KeyObject or a CryptoKey.",
): KeyMistake {
  return { code: "key_invalid", message, hint };
}

function unusable(message: string): KeyMistake {
  return {
    code: "key_unusable",
    message: `${message}.`,
    hint: "Set `algorithm` to the one this key signs with.",
  };
}
