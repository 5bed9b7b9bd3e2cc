import { optionError } from "../../core/options/option-checks.ts";
import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { orUndefined } from "../../core/errors.ts";
import { compact } from "../../core/runtime/compact.ts";
import { type Algorithm, hashBytes, isSymmetric, isKeyFor } from "../../core/keys/algorithm.ts";
import type { JsonWebKey } from "../../core/keys/verification-key.ts";

/** A key of a test issuer. With HS*, every property contains the secret. */
export interface TestKey {
  /** The `kid` in the header of tokens and in the JWK Set. */
  readonly kid?: string;
  /** A string for `verificationKeys`: the public key as PEM, or the secret. */
  readonly verificationKey: string;
  /** The public key with `alg`, `use` and `kid`. */
  readonly publicJwk: JsonWebKey;
  /** The key that verifies tokens. */
  readonly publicKey: KeyObject;
  /** The key that signs tokens. */
  readonly privateKey: KeyObject;
}

/** A private key, its PEM or, with HS*, the secret. */
export type SigningKey = KeyObject | string;

export function createTestKey(
  algorithm: Algorithm,
  kid: string | undefined,
  signingKey?: SigningKey,
): TestKey {
  const material = isSymmetric(algorithm) ? secretOf(algorithm, signingKey) : pairOf(algorithm, signingKey);
  const named = compact({ kid });
  const jwk = material.publicKey.export({ format: "jwk" }) as JsonWebKey;
  const publicJwk = Object.freeze({ ...jwk, alg: algorithm, use: "sig", ...named });
  return Object.freeze({ ...named, ...material, publicJwk });
}

type Material = Pick<TestKey, "verificationKey" | "publicKey" | "privateKey">;

function secretOf(
  algorithm: Algorithm,
  signingKey: SigningKey = randomBytes(64).toString("base64url"),
): Material {
  const bytes = hashBytes(algorithm);
  if (typeof signingKey !== "string" || signingKey.length < bytes)
    throw unusable(`isn't a secret for ${algorithm}.`, `Write a string of ${bytes} bytes or more.`);
  const secret = createSecretKey(signingKey, "utf8");
  return { verificationKey: signingKey, publicKey: secret, privateKey: secret };
}

function pairOf(algorithm: Algorithm, signingKey: SigningKey = generatePrivateKey(algorithm)): Material {
  const privateKey =
    typeof signingKey === "string" ? orUndefined(() => createPrivateKey(signingKey)) : signingKey;
  const publicKey = privateKey?.type === "private" ? createPublicKey(privateKey) : undefined;
  if (!privateKey || !publicKey || !isKeyFor(publicKey, algorithm))
    throw unusable(
      `isn't a private key for ${algorithm}.`,
      "Write its PEM or KeyObject, set `algorithm` to the algorithm of the key, or omit `signingKey` to create a key.",
    );
  const verificationKey = publicKey.export({ format: "pem", type: "spki" }).toString();
  return { verificationKey, publicKey, privateKey };
}

function generatePrivateKey(algorithm: Algorithm): KeyObject {
  if (algorithm.startsWith("Ed")) return generateKey("ed25519");
  const namedCurve = { ES256: "P-256", ES384: "P-384", ES512: "P-521" }[algorithm as "ES256"];
  return algorithm.startsWith("ES")
    ? generateKey("ec", { namedCurve })
    : generateKey("rsa", { modulusLength: 2048 });
}

/**
 * Generates a private key. It's encoded and imported again, because Node.js 20 can stop forever on a
 * `KeyObject` that it generated itself: exporting a JWK locks the key while it allocates memory. If garbage
 * collection then frees the job that generated the key, its destructor waits for the same lock.
 */
export function generateKey(type: string, options: object = {}): KeyObject {
  const { privateKey } = generateKeyPairSync(type as "rsa", {
    ...(options as { readonly modulusLength: number }),
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return createPrivateKey(privateKey);
}

const unusable = (message: string, hint: string) =>
  optionError(["createTestIssuer", "signingKey"], message, hint, "key_unusable");
