import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { attempt } from "../errors.ts";
import { type Algorithm, hashBytes, isSymmetric, suits } from "../keys/algorithm.ts";
import { type JsonWebKey } from "../keys/verification-key.ts";
import { mistake } from "./mistakes.ts";

/** A key of a test issuer. With HS* there is one secret: it signs, it verifies, and every member here gives it away. */
export interface TestKey {
  /** Its name in the header of tokens and in the JWK Set. */
  readonly kid?: string;
  /** As text for `verificationKeys`: the public key as PEM, or the secret. */
  readonly verificationKey: string;
  /** With `alg`, `use` and the `kid`. */
  readonly publicJwk: JsonWebKey;
  /** What verifies its tokens. */
  readonly publicKey: KeyObject;
  /** What signs them. */
  readonly privateKey: KeyObject;
}

/** Makes a key for an algorithm, or takes one: a private key, or the text of a secret. */
export function createTestKey(algorithm: Algorithm, kid: string | undefined, given?: SigningKey): TestKey {
  const { verificationKey, publicKey, privateKey } = isSymmetric(algorithm)
    ? secretOf(algorithm, given)
    : pairOf(algorithm, given);
  const named = kid !== undefined && { kid };
  const publicJwk = { ...(publicKey.export({ format: "jwk" }) as JsonWebKey), alg: algorithm, use: "sig" };
  return Object.freeze({
    ...named,
    verificationKey,
    publicJwk: Object.freeze({ ...publicJwk, ...named }),
    publicKey,
    privateKey,
  });
}

/** A key to sign with: a private key, its PEM, or with HS* the text of the secret. */
export type SigningKey = KeyObject | string;

type Material = Pick<TestKey, "verificationKey" | "publicKey" | "privateKey">;

function secretOf(algorithm: Algorithm, given: SigningKey = randomBytes(64).toString("base64url")): Material {
  if (typeof given !== "string" || given.length < hashBytes(algorithm)) {
    throw unusable(
      `is no secret for ${algorithm}.`,
      `Give it as a text of ${hashBytes(algorithm)} bytes or more.`,
    );
  }
  const secret = createSecretKey(given, "utf8");
  return { verificationKey: given, publicKey: secret, privateKey: secret };
}

function pairOf(algorithm: Algorithm, given?: SigningKey): Material {
  const privateKey =
    given === undefined
      ? generatePrivateKey(algorithm)
      : typeof given === "string"
        ? attempt(() => createPrivateKey(given))
        : given;
  const publicKey = privateKey?.type === "private" ? createPublicKey(privateKey) : undefined;
  if (!privateKey || !publicKey || !suits(publicKey, algorithm)) {
    throw unusable(
      `is no private key for ${algorithm}.`,
      "Give the PEM or the KeyObject of one, set `algorithm` to the one it signs with, or leave it out: a key is made then.",
    );
  }
  const pem = publicKey.export({ format: "pem", type: "spki" }).toString();
  return { verificationKey: pem, publicKey, privateKey };
}

function generatePrivateKey(algorithm: Algorithm): KeyObject {
  if (algorithm.startsWith("Ed")) return generateKeyPairSync("ed25519").privateKey;
  const curve = { ES256: "P-256", ES384: "P-384", ES512: "P-521" }[algorithm as "ES256"];
  return (
    algorithm.startsWith("ES")
      ? generateKeyPairSync("ec", { namedCurve: curve })
      : generateKeyPairSync("rsa", { modulusLength: 2048 })
  ).privateKey;
}

const unusable = (message: string, hint: string) =>
  mistake(["createTestIssuer", "signingKey"], message, hint, "key_unusable");
