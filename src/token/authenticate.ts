import { type Rejection } from "../errors.ts";
import { type Principal, readPrincipal } from "./principal.ts";
import { CACHE_CHANNEL } from "../runtime/channels.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { findFormMistake, readJwt } from "./jwt-parts.ts";
import { type Acceptance, digestOf, type TokenCache } from "./token-cache.ts";
import { type Issuers } from "./issuers.ts";

/** The principal of a token, or why there is none. */
export type Identified =
  | {
      readonly kind: "identified";
      readonly principal: Principal;
      /** For the cache: the key that verified the token, and how long the token is accepted. */
      readonly acceptance?: Acceptance;
    }
  | { readonly kind: "refused"; readonly refusal: TokenRefusal };

/** The token was rejected, or could not be checked. */
export interface TokenRefusal {
  readonly reason: "token_rejected" | "keys_unavailable";
  readonly rejection?: Rejection;
  /** The missing or invalid claim. */
  readonly claim?: string;
  /** The error, for the operator's log. */
  readonly cause?: unknown;
  /** When the keys may be available. */
  readonly retryAfterSeconds?: number;
  /** The principal of a revoked token. */
  readonly principal?: Principal;
}

/** Reports whether a verified principal is revoked. */
export type RevocationCheck = (principal: Principal) => boolean | Promise<boolean>;

/** Identifies the principal of a token; synchronously if the token is cached. */
export type Identifier = (token: string) => Identified | Promise<Identified>;

export interface IdentificationRules {
  readonly maxTokenBytes: number;
  readonly cache: TokenCache<Principal> | undefined;
  readonly isRevoked: RevocationCheck | undefined;
}

/** Creates the function that verifies tokens, with a cache and the revocation check of the options. */
export function createIdentifier(issuers: Issuers, rules: IdentificationRules): Identifier {
  const { maxTokenBytes, cache, isRevoked } = rules;
  const verify = (token: string) => verifyToken(token, issuers);
  const identify = cache ? withCache(cache, verify) : verify;
  return (token) => {
    // Before hashing: a client may send a token of any size.
    const malformed = findFormMistake(token, maxTokenBytes);
    if (malformed) return reject(malformed.rejection);
    return isRevoked ? checkRevocation(identify(token), isRevoked) : identify(token);
  };
}

async function verifyToken(token: string, issuers: Issuers): Promise<Identified> {
  const read = readJwt(token);
  if (read.kind === "rejected") return reject(read.rejection);
  const found = issuers.verifierFor(read.jwt);
  if (found.kind === "rejected") return reject(found.rejection);
  const { verifier } = found;
  const verification = await verifier.verify(read.jwt);
  if (verification.kind === "unavailable")
    return unavailable(verification.cause, verification.retryAfterSeconds);
  if (verification.kind === "rejected") return reject(verification.rejection, verification.claim);
  const result = readPrincipal(verification.claims, verifier.principal);
  if (result.kind === "invalid") return reject("claims", result.claim, result.cause);
  const { key, endsAt } = verification;
  return {
    kind: "identified",
    principal: result.principal,
    acceptance: { keys: verifier.keys, key, endsAt },
  };
}

/** Caches accepted tokens, and verifies a token only once if several requests send it at the same time. */
function withCache(cache: TokenCache<Principal>, verify: (token: string) => Promise<Identified>): Identifier {
  const pending = new Map<string, Promise<Identified>>();
  const verifyOnce = async (token: string, digest: string): Promise<Identified> => {
    const since = CACHE_CHANNEL.hasSubscribers ? performance.now() : undefined;
    try {
      const result = await verify(token);
      if (result.kind === "identified" && result.acceptance)
        cache.set(digest, result.principal, result.acceptance);
      return result;
    } finally {
      pending.delete(digest);
      cache.publish("miss", since);
    }
  };
  return (token) => {
    const digest = digestOf(token);
    const principal = cache.get(digest);
    const other = principal ? undefined : pending.get(digest);
    if (principal || other) cache.publish("hit");
    if (principal) return { kind: "identified", principal };
    const started = other ?? verifyOnce(token, digest);
    pending.set(digest, started);
    return started;
  };
}

/** A failed check is not a revocation: the request is refused as unavailable, so a client keeps its token. */
export async function checkRevocation(
  answer: Identified | Promise<Identified>,
  isRevoked: RevocationCheck,
): Promise<Identified> {
  const outcome = await answer;
  if (outcome.kind === "refused") return outcome;
  const { principal } = outcome;
  try {
    const verdict = isRevoked(principal);
    const revoked: unknown =
      typeof verdict === "boolean" ? verdict : await withinLimit(verdict, "`isRevoked`");
    if (revoked === false) return outcome;
    if (revoked === true)
      return { kind: "refused", refusal: { reason: "token_rejected", rejection: "revoked", principal } };
    throw new TypeError("`isRevoked` must return true or false.");
  } catch (cause) {
    return unavailable(cause);
  }
}

const reject = (rejection: Rejection, claim?: string, cause?: string): Identified => ({
  kind: "refused",
  refusal: {
    reason: "token_rejected",
    rejection,
    ...(claim !== undefined && { claim }),
    ...(cause !== undefined && { cause }),
  },
});

const unavailable = (cause: unknown, retryAfterSeconds?: number): Identified => ({
  kind: "refused",
  refusal: { reason: "keys_unavailable", cause, ...(retryAfterSeconds && { retryAfterSeconds }) },
});
