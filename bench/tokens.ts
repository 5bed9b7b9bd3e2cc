/** Keys and tokens of all benchmarks. A token has twelve claims and eight scopes, and 946 bytes with RS256. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  sign as signBytes,
} from "node:crypto";

export const ALGORITHMS = ["RS256", "ES256", "EdDSA", "HS256"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export const ISSUER = "https://login.example.com";
export const AUDIENCE = "agents-prod";
export const KID = "key-1";

/** Signs tokens, and holds the public key or the HS256 secret to verify them with. */
export interface Signer {
  readonly algorithm: Algorithm;
  /** A PEM string, or the secret. */
  readonly text: string;
  readonly publicKey: KeyObject | undefined;
  readonly jwk: JsonWebKey | undefined;
  readonly sign: (claims: object) => string;
}

/** `typ` is the media type of the token: some libraries accept `JWT` only. */
export function createSigner(algorithm: Algorithm, typ = "at+jwt"): Signer {
  const header = encode({ alg: algorithm, kid: KID, typ });
  const cut = (claims: object) => `${header}.${encode(claims)}`;
  if (algorithm === "HS256") {
    const text = randomBytes(32).toString("hex");
    const sign = (claims: object) => {
      const input = cut(claims);
      return `${input}.${createHmac("sha256", text).update(input).digest("base64url")}`;
    };
    return { algorithm, text, publicKey: undefined, jwk: undefined, sign };
  }
  const { publicKey, privateKey } = createKeys(algorithm);
  const digest = algorithm === "EdDSA" ? null : "sha256";
  return {
    algorithm,
    text: publicKey.export({ type: "spki", format: "pem" }) as string,
    publicKey,
    jwk: { ...publicKey.export({ format: "jwk" }), kid: KID, alg: algorithm, use: "sig" },
    sign: (claims) => {
      const input = cut(claims);
      const key = { key: privateKey, dsaEncoding: "ieee-p1363" } as const;
      return `${input}.${signBytes(digest, Buffer.from(input), key).toString("base64url")}`;
    },
  };
}

/** Imports keys from PEM: Node.js 20 can stop forever when it exports a key as JWK that it generated itself. */
function createKeys(algorithm: "RS256" | "ES256" | "EdDSA") {
  const type = { RS256: "rsa", ES256: "ec", EdDSA: "ed25519" }[algorithm];
  // Each type of key ignores the options of the others.
  const pair = generateKeyPairSync(type as "rsa", {
    modulusLength: 2048,
    ...{ namedCurve: "P-256" },
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { publicKey: createPublicKey(pair.publicKey), privateKey: createPrivateKey(pair.privateKey) };
}

/** The claims of one caller. */
export function claimsOf(caller = 1): object {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: ISSUER,
    sub: `user-${caller}`,
    aud: AUDIENCE,
    exp: now + 36_000,
    iat: now,
    nbf: now,
    jti: `5f0c2b1e-8a4d-4c6f-9b7e-${String(caller).padStart(12, "0")}`,
    session_id: `s-${caller}`,
    client_id: "console-web",
    tenant: "tenant-europe-central-01-aa",
    auth_time: now - 30,
    scopes: [
      "agents:read",
      "agents:run",
      "agents:a-17:write",
      "sessions:read",
      "sessions:write",
      "traces:read",
      "evals:run",
      "workflows:read",
    ],
  };
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Returns a function that decodes a new string on each call, as a socket does: V8 has not hashed or flattened it. */
export const createFresh = (text: string): (() => string) => {
  const bytes = Buffer.from(text, "latin1");
  return () => bytes.toString("latin1");
};
