/** Authenticates this server to the endpoint (RFC 7662 section 2.1). */
import { createPrivateKey, type JsonWebKeyInput, type KeyObject } from "node:crypto";
import { types } from "node:util";
import { SignJWT } from "jose/jwt/sign";
import { orUndefined } from "../../core/errors.ts";
import { type Algorithm, isKeyFor } from "../../core/keys/algorithm.ts";
import type { JsonWebKey } from "../../core/keys/verification-key.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Pending } from "../../core/runtime/pending.ts";

/** A client of the issuer, with the secret or the private key that it's registered with. */
export type IntrospectionClient =
  | {
      /** The `client_id`. */
      readonly id: string;
      /** The client secret. It's sent only to the endpoint. */
      readonly secret: string;
      /** In the header or in the body (RFC 6749 section 2.3.1). Default: `"client_secret_basic"`. */
      readonly method?: "client_secret_basic" | "client_secret_post";
    }
  | {
      /** The `client_id`. */
      readonly id: string;
      /** Signs an assertion for each request: `private_key_jwt` (RFC 7523). A PEM, a JWK or a `KeyObject`. */
      readonly privateKey: string | JsonWebKey | KeyObject;
      /** The algorithm of the signature. It must match the key, and can't be HS*. */
      readonly algorithm: Algorithm;
      /** The `kid` of the signature. Default: none. */
      readonly keyId?: string;
      /** The `aud` of the assertion. Default: the URL of the endpoint. */
      readonly audience?: string;
    };

/** The credentials that a request contains. */
interface Credentials {
  readonly headers?: Record<string, string>;
  readonly fields?: Record<string, string>;
}

/** Returns the credentials for one request. */
export type Authentication = (now: () => number) => Pending<Credentials>;

const ASSERTION_SECONDS = 60;

/** Returns `undefined` for a private key that can't sign with the algorithm. */
export function createAuthentication(client: IntrospectionClient, url: string): Authentication | undefined {
  const { id } = client;
  if ("secret" in client) {
    const { secret, method } = client;
    const basic = Buffer.from(`${encode(id)}:${encode(secret)}`).toString("base64");
    const credentials: Credentials =
      method === "client_secret_post"
        ? { fields: { client_id: id, client_secret: secret } }
        : { headers: { authorization: `Basic ${basic}` } };
    return () => credentials;
  }
  const { privateKey, algorithm, keyId, audience = url } = client;
  const key = importPrivateKey(privateKey);
  if (!key || !isKeyFor(key, algorithm) || (key.asymmetricKeyDetails?.modulusLength ?? Infinity) < 2048)
    return undefined;
  const header = { alg: algorithm, ...compact({ kid: keyId }) };
  return async (now) => {
    const iat = Math.floor(readClock(now).getTime() / 1000);
    const claims = { iss: id, sub: id, aud: audience, jti: crypto.randomUUID(), iat };
    const client_assertion = await new SignJWT({ ...claims, exp: iat + ASSERTION_SECONDS })
      .setProtectedHeader(header)
      .sign(key);
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    return { fields: { client_assertion_type, client_assertion } };
  };
}

/** Encoded as in a form: a colon in an id must not end it (RFC 6749 section 2.3.1). */
const encode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);

function importPrivateKey(key: string | JsonWebKey | KeyObject): KeyObject | undefined {
  if (types.isKeyObject(key)) return key.type === "private" ? key : undefined;
  return orUndefined(() =>
    createPrivateKey(typeof key === "string" ? key : ({ key, format: "jwk" } as JsonWebKeyInput)),
  );
}
