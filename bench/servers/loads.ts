/** What is sent to the servers. */
import { randomBytes } from "node:crypto";
import { claimsOf, type Signer } from "../tokens.ts";

export interface Load {
  readonly name: string;
  /** Of a server that checks; one without auth answers 200 to all. */
  readonly status: 200 | 401;
  /** The header of the next request. */
  readonly authorization: () => string;
  /** A library that remembers tokens has met most of these before its cost is measured. */
  readonly isRemembered: boolean;
}

export const ONE_TOKEN = "one token";
export const MANY_TOKENS = "10,000 tokens";
export const GARBAGE = "garbage";

const MANY = 10_000;
const SIGNATURE_CHANGES = 200;

export function createLoads(signer: Signer, options: { readonly withManyTokens: boolean }): readonly Load[] {
  const token = signer.sign(claimsOf());
  const load = (name: string, status: 200 | 401, next: () => string, isRemembered = false): Load => ({
    name,
    status,
    isRemembered,
    authorization: () => `Bearer ${next()}`,
  });
  const loads = [
    load(ONE_TOKEN, 200, () => token),
    load("bad signatures", 401, anyOf(tamper(token))),
    load(GARBAGE, 401, anyOf(Array.from({ length: 1000 }, () => randomBytes(32).toString("base64url")))),
  ];
  if (options.withManyTokens) {
    const tokens = Array.from({ length: MANY }, (_, caller) => signer.sign(claimsOf(caller)));
    loads.splice(1, 0, load(MANY_TOKENS, 200, anyOf(tokens), true));
  }
  return loads;
}

/** The same token with one letter of its signature exchanged, each time another one. */
function tamper(token: string): readonly string[] {
  const from = token.lastIndexOf(".") + 1;
  return Array.from({ length: SIGNATURE_CHANGES }, (_, change) => {
    const at = from + 50 + change;
    return `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`;
  });
}

/** In no order, as the requests of many callers come; the same one in every run. */
function anyOf(values: readonly string[]): () => string {
  let state = 1;
  return () => {
    // A linear congruential generator modulo 2^32; its high bits are the random ones.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return values[Math.floor((state / 2 ** 32) * values.length)] ?? "";
  };
}
