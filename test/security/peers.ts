/** Other JWT verifiers, all with the same key, algorithm, audience and time. */
import type { KeyObject } from "node:crypto";
import { createVerifier } from "fast-jwt";
import { verify as verifyWithHono } from "hono/jwt";
import { jwtVerify } from "jose";
import { verify as verifyWithJsonwebtoken } from "jsonwebtoken";
import type { Algorithm } from "scopegate";
import { NOW } from "./tokens/forge.ts";

export interface Judged {
  readonly token: string;
  readonly algorithm: Algorithm;
  /** A PEM or a secret, which every verifier accepts. */
  readonly key: string;
  readonly keyObject: KeyObject;
  readonly audience: string;
}

export const PEERS = ["jose", "jsonwebtoken", "fast-jwt", "hono/jwt"] as const;
type Peer = (typeof PEERS)[number];

/**
 * Each function verifies a token and throws if the library does. hono/jwt has no option for the time, so it
 * is mocked.
 */
const verifiers: Readonly<Record<Peer, (judged: Judged) => unknown>> = {
  jose: ({ token, keyObject, algorithm, audience }) =>
    jwtVerify(token, keyObject, { algorithms: [algorithm], audience, currentDate: new Date(NOW * 1000) }),
  jsonwebtoken: ({ token, key, algorithm, audience }) =>
    verifyWithJsonwebtoken(token, key, {
      algorithms: [algorithm as "RS256"],
      audience,
      clockTimestamp: NOW,
    }),
  "fast-jwt": ({ token, key, algorithm, audience }) =>
    createVerifier({
      key,
      algorithms: [algorithm as "RS256"],
      allowedAud: audience,
      clockTimestamp: NOW * 1000,
    })(token) as unknown,
  "hono/jwt": ({ token, key, algorithm, audience }) =>
    verifyWithHono(token, key, { alg: algorithm as "RS256", aud: audience }),
};

export async function isAcceptedBy(peer: Peer, judged: Judged): Promise<boolean> {
  try {
    await verifiers[peer](judged);
    return true;
  } catch {
    return false;
  }
}
