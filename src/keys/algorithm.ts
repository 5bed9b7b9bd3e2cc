import { type KeyObject } from "node:crypto";

/** The signature algorithms that a server can allow (RFC 7518 section 3.1, RFC 8037, RFC 9864). `none` is not one. */
export const ALGORITHMS = [
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
  "HS256",
  "HS384",
  "HS512",
] as const;

/** A signature algorithm, by its name in JOSE. */
export type Algorithm = (typeof ALGORITHMS)[number];

export const isSymmetric = (algorithm: Algorithm): boolean => algorithm.startsWith("HS");

/** The bytes of the hash: an HMAC secret must be at least as long (RFC 7518 section 3.2). */
export const hashBytes = (algorithm: Algorithm): number => Number(algorithm.slice(2)) / 8;

const CURVES: Partial<Record<Algorithm, string>> = {
  ES256: "prime256v1",
  ES384: "secp384r1",
  ES512: "secp521r1",
};

/** Whether a public key is of the kind, and on the curve, that an algorithm signs with. */
export function suits(key: KeyObject, algorithm: Algorithm): boolean {
  switch (algorithm.slice(0, 2)) {
    case "RS":
    case "PS":
      return key.asymmetricKeyType === "rsa";
    case "ES":
      return key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === CURVES[algorithm];
    case "Ed":
      return key.asymmetricKeyType === "ed25519";
    default:
      return false;
  }
}
