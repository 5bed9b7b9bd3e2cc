/** The other verifiers of JWTs, each told the same: this key, this algorithm, this audience, this time. */
import { type KeyObject } from "node:crypto";
import { createVerifier } from "fast-jwt";
import { verify as verifyWithHono } from "hono/jwt";
import { jwtVerify } from "jose";
import { verify as verifyWithJsonwebtoken } from "jsonwebtoken";
import { type Algorithm } from "scopegate";
import { NOW } from "./tokens/forge.ts";

export interface Judged {
  readonly token: string;
  readonly algorithm: Algorithm;
  /** A PEM or a secret: what every verifier takes. */
  readonly key: string;
  readonly keyObject: KeyObject;
  readonly audience: string;
}

export const PEERS = ["jose", "jsonwebtoken", "fast-jwt", "hono/jwt"] as const;
export type Peer = (typeof PEERS)[number];

/** Verifies with one of them, and throws where it throws. Hono reads the clock of the process, the others are told. */
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
