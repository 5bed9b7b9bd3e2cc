import { type Rejection } from "../errors.ts";
import { type Principal, readPrincipal } from "./principal.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { formMistakeOf, readJwt } from "./jwt-parts.ts";
import { type Acceptance, digestOf, type TokenCache } from "./token-cache.ts";
import { type Issuers } from "./issuers.ts";

/** Who a token speaks for, or why it speaks for nobody. */
export type Identified =
  | { readonly kind: "identified"; readonly principal: Principal }
  | {
      readonly kind: "refused";
      readonly refusal: TokenRefusal;
    };

/** Why no principal was found: the token was rejected, or it could not be checked. */
export interface TokenRefusal {
  readonly reason: "token_rejected" | "keys_unavailable";
  readonly rejection?: Rejection;
  /** The claim that is missing or wrong. */
  readonly claim?: string;
  /** What failed. For the operator's log. */
  readonly cause?: unknown;
  /** The principal of a revoked token. */
  readonly principal?: Principal;
}

/** Reports whether a verified principal was revoked. */
export type RevocationCheck = (principal: Principal) => boolean | Promise<boolean>;

/** From a token to whom it speaks for; at once where it is remembered. */
export type Identifier = (token: string) => Identified | Promise<Identified>;

export interface IdentificationRules {
  readonly maxTokenBytes: number;
  readonly cache: TokenCache<Principal> | undefined;
  readonly isRevoked: RevocationCheck | undefined;
}

/** Tells whom tokens speak for: by their signature and claims, unless those are remembered, and by what was revoked. */
export function createIdentifier(issuers: Issuers, rules: IdentificationRules): Identifier {
  const { maxTokenBytes, cache, isRevoked } = rules;
  const verify: Verify = (token, onAccepted) => verifyToken(token, issuers, onAccepted);
  const identify = cache ? remember(cache, verify) : verify;
  return (token) => {
    // Before anything looks at all of it.
    const misshapen = formMistakeOf(token, maxTokenBytes);
    if (misshapen) return reject(misshapen);
    return isRevoked ? askRevocation(identify(token), isRevoked) : identify(token);
  };
}

/** `onAccepted` is told of a token that was accepted, before anybody else is. */
type Verify = (
  token: string,
  onAccepted?: (principal: Principal, acceptance: Acceptance) => void,
) => Promise<Identified>;

/** The issuer, the signature and the claims of one token. */
async function verifyToken(
  token: string,
  issuers: Issuers,
  onAccepted?: Parameters<Verify>[1],
): Promise<Identified> {
  const jwt = readJwt(token);
  if (typeof jwt === "string") return reject(jwt);
  const result = issuers.verifierFor(jwt);
  if (result.kind === "rejected") return reject(result.rejection);
  const { verifier } = result;
  const verification = await verifier.verify(jwt);
  if (verification.kind === "unavailable") return unavailable(verification.cause);
  if (verification.kind === "rejected") return reject(verification.rejection, verification.claim);
  const read = readPrincipal(verification.claims, verifier.principal);
  if (read.kind === "mistake") return reject("claims", read.claim);
  const { key, endsAt } = verification;
  onAccepted?.(read.principal, { keys: verifier.keys, key, endsAt });
  return identified(read.principal);
}

/** Verifies a token once while it is remembered, and once for all who send it at the same time. */
function remember(cache: TokenCache<Principal>, verify: Verify): Identifier {
  const flights = new Map<string, Promise<Identified>>();
  const verifyOnce = async (token: string, digest: string): Promise<Identified> => {
    try {
      return await verify(token, (principal, acceptance) => {
        cache.set(digest, principal, acceptance);
      });
    } finally {
      flights.delete(digest);
    }
  };
  return (token) => {
    const digest = digestOf(token);
    const principal = cache.get(digest);
    if (principal) return identified(principal);
    const started = flights.get(digest);
    if (started) return started;
    const flight = verifyOnce(token, digest);
    flights.set(digest, flight);
    return flight;
  };
}

/** No answer is not a bad token: whoever cannot tell whether a token is revoked says so, and lets nobody in. */
async function askRevocation(
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
    throw new TypeError("`isRevoked` must answer true or false.");
  } catch (cause) {
    return unavailable(cause);
  }
}

const identified = (principal: Principal): Identified => ({ kind: "identified", principal });

const reject = (rejection: Rejection, claim?: string): Identified => ({
  kind: "refused",
  refusal: { reason: "token_rejected", rejection, ...(claim !== undefined && { claim }) },
});

const unavailable = (cause: unknown): Identified => ({
  kind: "refused",
  refusal: { reason: "keys_unavailable", cause },
});
