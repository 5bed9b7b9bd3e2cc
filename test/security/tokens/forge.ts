/**
 * Keys, and functions that build tokens byte by byte, because a signing library would refuse to create most
 * of these.
 */
import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  sign,
} from "node:crypto";
import type { ResourceServerOptions } from "../../support/server.ts";
import testKeys from "./test-keys.json" with { type: "json" };

/** One token, the options of the server that verifies it, and the expected verdict. */
export interface TokenCase {
  readonly name: string;
  readonly token: string;
  readonly options?: Partial<ResourceServerOptions>;
  /** `accepted`, the rejection of the token, or the code of the configuration issue. */
  readonly expected: string;
  /** Properties of `Object.prototype` during verification, as after a prototype pollution attack. */
  readonly pollution?: Readonly<Record<string, unknown>>;
}

/** One row of a table of tokens. */
export const row = (
  expected: string,
  name: string,
  token: string,
  options: NonNullable<TokenCase["options"]> = {},
): TokenCase => ({ name, token, options, expected });

/** The time of every server here, in seconds since the epoch. */
export const NOW = 1_700_000_000;

const pairOf = (jwk: JsonWebKey) => {
  const privateKey = createPrivateKey({ key: jwk, format: "jwk" });
  return { privateKey, publicKey: createPublicKey(privateKey) };
};

/** Fixed keys, so that `corpora/tokens.json` can be written again. */
const pairs = {
  rsa: pairOf(testKeys.keys.rsa),
  stranger: pairOf(testKeys.keys.stranger),
  p256: pairOf(testKeys.keys.p256),
  p384: pairOf(testKeys.keys.p384),
  p521: pairOf(testKeys.keys.p521),
  k256: pairOf(testKeys.keys.k256),
  ed25519: pairOf(testKeys.keys.ed25519),
};

export type KeyName = keyof typeof pairs;

export const privateKeyOf = (name: KeyName): KeyObject => pairs[name].privateKey;
export const publicKeyOf = (name: KeyName): KeyObject => pairs[name].publicKey;
export const pemOf = (name: KeyName): string =>
  pairs[name].publicKey.export({ type: "spki", format: "pem" }).toString();
export const jwkOf = (name: KeyName, more: object = {}): Record<string, unknown> => ({
  ...pairs[name].publicKey.export({ format: "jwk" }),
  ...more,
});

/** The RSA public key with another exponent. With exponent 1, every message is its own signature. */
export const rsaWithExponent = (e: string): KeyObject =>
  createPublicKey({ key: { ...pairs.rsa.publicKey.export({ format: "jwk" }), e }, format: "jwk" });

export const SECRET = "an-hmac-secret-of-64-bytes-that-no-test-shows-to-anybody-else-0123";

export const encode = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString("base64url");

export const CLAIMS = { scopes: ["agents:read"], aud: "agents-prod", sub: "user-1" };
export const PAYLOAD = JSON.stringify(CLAIMS);

/** Signs a string with a private key or a secret. */
export function signatureOf(alg: string, input: string, key: KeyObject | string | Uint8Array): Buffer {
  const hash = `sha${alg.slice(2)}`;
  if (alg.startsWith("HS")) return createHmac(hash, key).update(input).digest();
  const signing = { key: key as KeyObject, dsaEncoding: "ieee-p1363" as const };
  if (alg.startsWith("Ed")) return sign(null, Buffer.from(input), signing);
  if (!alg.startsWith("PS")) return sign(hash, Buffer.from(input), signing);
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  return sign(hash, Buffer.from(input), { ...signing, ...padding });
}

export interface Forged {
  /** The algorithm of the signature. The header may name another one. */
  readonly alg?: string;
  readonly key?: KeyObject | string | Uint8Array;
  /** Objects are serialized as JSON. Strings and bytes are used unchanged. */
  readonly header?: object | string | Uint8Array;
  readonly payload?: object | string | Uint8Array;
}

const bytesOf = (part: object | string | Uint8Array): string | Uint8Array =>
  typeof part === "string" || part instanceof Uint8Array ? part : JSON.stringify(part);

/** Creates a token with a matching signature. */
export function forge({
  alg = "RS256",
  key,
  header = { alg, typ: "JWT" },
  payload = PAYLOAD,
}: Forged = {}): string {
  return seal(encode(bytesOf(header)), encode(bytesOf(payload)), alg, key);
}

/** Signs two encoded segments, which are used unchanged. */
export function seal(header: string, payload: string, alg = "RS256", key?: Forged["key"]): string {
  const input = `${header}.${payload}`;
  return `${input}.${encode(signatureOf(alg, input, key ?? (alg.startsWith("HS") ? SECRET : pairs.rsa.privateKey)))}`;
}

/** Creates a token with the valid claims and some more. A claim that is `undefined` is left out. */
export const claims = (more: Readonly<Record<string, unknown>>, alg = "RS256"): string =>
  forge({ alg, payload: { ...CLAIMS, ...more } });

/** Creates a token with the valid claims as JSON, followed by these raw JSON properties. */
export const claimsJson = (members: string): string =>
  forge({ payload: `${PAYLOAD.slice(0, -1)},${members}}` });

/** Creates a token with more header parameters, which may replace `alg` and `typ`. */
export const withHeader = (more: Readonly<Record<string, unknown>>, key?: KeyObject): string =>
  forge({ header: { alg: "RS256", typ: "JWT", ...more }, ...(key && { key }) });

export const partsOf = (token: string): [header: string, payload: string, signature: string] => {
  const [header = "", payload = "", signature = ""] = token.split(".");
  return [header, payload, signature];
};
