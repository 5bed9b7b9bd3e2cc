/** An issuer in memory: keys of its own, and tokens signed with them. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import { type Algorithm, type JsonWebKey } from "scopegate";

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
const keyPairs = new Map<string, { readonly publicKey: KeyObject; readonly privateKey: KeyObject }>();

export function createIssuer({
  algorithm = "RS256",
  kid,
}: { readonly algorithm?: IssuerAlgorithm; readonly kid?: string } = {}): Issuer {
  const name = `${keyKind(algorithm)} ${kid ?? ""}`;
  const pair = keyPairs.get(name) ?? generateKeyPair(algorithm);
  keyPairs.set(name, pair);
  const { publicKey, privateKey } = pair;
  return {
    publicPem: publicKey.export({ format: "pem", type: "spki" }).toString(),
    publicJwk: {
      ...(publicKey.export({ format: "jwk" }) as JsonWebKey),
      alg: algorithm,
      ...(kid !== undefined && { kid }),
    },
    publicKey,
    privateKey,
    token: (claims = {}, header = {}) =>
      new SignJWT({ scopes: [], aud: "agents-prod", sub: "user-1", ...claims })
        .setProtectedHeader({ alg: algorithm, typ: "JWT", ...(kid !== undefined && { kid }), ...header })
        .sign(privateKey),
  };
}

/** RSA keys serve RS* and PS*, Ed25519 keys both of their names. */
function keyKind(algorithm: IssuerAlgorithm): string {
  return algorithm.startsWith("ES") ? algorithm : algorithm.startsWith("Ed") ? "ed25519" : "rsa";
}

function generateKeyPair(algorithm: IssuerAlgorithm) {
  if (keyKind(algorithm) === "rsa") return generateKeyPairSync("rsa", { modulusLength: 2048 });
  if (keyKind(algorithm) === "ed25519") return generateKeyPairSync("ed25519");
  return generateKeyPairSync("ec", { namedCurve: `P-${algorithm.slice(2).replace("512", "521")}` });
}
