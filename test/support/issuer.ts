/** Issuers with the defaults that most tests need: RS256, a key without `kid`, and tokens without dates. */
import type { KeyObject } from "node:crypto";
import type { Algorithm } from "scopegate";
import type { JsonWebKey } from "../../src/core/keys/verification-key.ts";
import { createTestIssuer } from "scopegate/testing";

export type IssuerAlgorithm = Exclude<Algorithm, `HS${string}`>;

export interface Issuer {
  readonly publicPem: string;
  /** Includes `alg`, and `kid` if the issuer has one. */
  readonly publicJwk: JsonWebKey;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  /** Signs a token. A claim or header parameter that is `undefined` is left out. */
  readonly token: (
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ) => Promise<string>;
}

/** Key pairs by kind of key and `kid`. Issuers with the same kind and `kid` share one. */
const signingKeys = new Map<string, KeyObject>();

/** Claims that a token only has if a test sets them. */
const UNDATED = { iss: undefined, iat: undefined, exp: undefined };

export function createIssuer({
  algorithm = "RS256",
  audience = "agents-prod",
  kid,
}: {
  readonly algorithm?: IssuerAlgorithm;
  readonly audience?: string;
  readonly kid?: string;
} = {}): Issuer {
  const name = `${keyKind(algorithm)} ${kid ?? ""}`;
  const signingKey = signingKeys.get(name);
  const issuer = createTestIssuer({
    algorithm,
    audience,
    kid: kid ?? null,
    ...(signingKey && { signingKey }),
  });
  const { verificationKey, publicJwk, publicKey, privateKey } = issuer.key;
  signingKeys.set(name, privateKey);
  const { use: _, ...jwk } = publicJwk;
  return {
    publicPem: verificationKey,
    publicJwk: jwk,
    publicKey,
    privateKey,
    token: (claims = {}, header = {}) => issuer.token({ claims: { ...UNDATED, ...claims }, header }),
  };
}

/** An RSA key is used for RS* and PS*, an Ed25519 key for `EdDSA` and `Ed25519`. */
function keyKind(algorithm: IssuerAlgorithm): string {
  return algorithm.startsWith("ES") ? algorithm : algorithm.startsWith("Ed") ? "ed25519" : "rsa";
}
