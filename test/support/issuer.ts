/** Issuers as most tests want them: RS256, keys without names, and tokens with a few claims that a test chooses all of. */
import { type KeyObject } from "node:crypto";
import { type Algorithm, type JsonWebKey } from "scopegate";
import { createTestIssuer } from "scopegate/testing";

export type IssuerAlgorithm = Exclude<Algorithm, `HS${string}`>;

export interface Issuer {
  readonly publicPem: string;
  /** With `alg`, and with the issuer's `kid` where it has one. */
  readonly publicJwk: JsonWebKey;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  /** A signed token. A claim or header parameter given as `undefined` is left out. */
  readonly token: (
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ) => Promise<string>;
}

/** Issuers of one kind of key and one `kid` share a key pair; another `kid` makes another one. */
const signingKeys = new Map<string, KeyObject>();

/** What only the tests of these claims give. */
const UNDATED = { iss: undefined, iat: undefined, exp: undefined };

export function createIssuer({
  algorithm = "RS256",
  kid,
}: { readonly algorithm?: IssuerAlgorithm; readonly kid?: string } = {}): Issuer {
  const name = `${keyKind(algorithm)} ${kid ?? ""}`;
  const signingKey = signingKeys.get(name);
  const issuer = createTestIssuer({
    algorithm,
    audience: "agents-prod",
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

/** RSA keys serve RS* and PS*, Ed25519 keys both of their names. */
function keyKind(algorithm: IssuerAlgorithm): string {
  return algorithm.startsWith("ES") ? algorithm : algorithm.startsWith("Ed") ? "ed25519" : "rsa";
}
