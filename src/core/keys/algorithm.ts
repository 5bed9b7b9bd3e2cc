import type { KeyObject } from "node:crypto";

const RSA = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const;
const ELLIPTIC = ["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const;
const HMAC = ["HS256", "HS384", "HS512"] as const;
/** The names of Node.js for curves, and for types of keys by the first two letters of an algorithm. */
type Names = Partial<Record<string, string>>;
const CURVES: Names = { ES256: "prime256v1", ES384: "secp384r1", ES512: "secp521r1" };
const KEY_TYPES: Names = { RS: "rsa", PS: "rsa", ES: "ec", Ed: "ed25519" };

/** The supported signature algorithms (RFC 7518 section 3.1, RFC 8037, RFC 9864). `none` isn't supported. */
export const ALGORITHMS = [...RSA, ...ELLIPTIC, ...HMAC] as const;

/** The JOSE name of a signature algorithm. */
export type Algorithm = (typeof ALGORITHMS)[number];

export const isSymmetric = (algorithm: Algorithm): boolean => algorithm.startsWith("HS");

/** Returns the size of an HMAC in bytes: the secret must be at least as long (RFC 7518 section 3.2). */
export const hashBytes = (algorithm: Algorithm): number => Number(algorithm.slice(2)) / 8;

/** Returns whether an asymmetric key has the type and the curve that an algorithm requires. */
export const isKeyFor = (key: KeyObject, algorithm: Algorithm): boolean =>
  key.asymmetricKeyType === KEY_TYPES[algorithm.slice(0, 2)] &&
  key.asymmetricKeyDetails?.namedCurve === CURVES[algorithm];
