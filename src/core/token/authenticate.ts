import { CACHE_CHANNEL } from "../runtime/channels.ts";
import { isPending, type Pending } from "../runtime/pending.ts";
import { createGrants, type GrantsRules } from "./grants.ts";
import { type Identified, rejectToken, unavailable } from "./identified.ts";
import { type Issuers } from "./issuers.ts";
import { findFormMistake, readJwt } from "./jwt-parts.ts";
import { createOpaqueIdentifier, type OpaqueRules } from "./opaque-tokens.ts";
import { type Principal, readPrincipal } from "./principal.ts";
import { checkRevocation, type RevocationRules, revocationChecksOf } from "./revocation-check.ts";
import { digestOf, type TokenCache } from "./token-cache.ts";

/** Identifies the principal of a token; at once if it is remembered and nothing returns a promise. */
export type Identifier = (token: string) => Pending<Identified>;

/** The options for tokens that are not JWTs, and for the steps after a token is verified. */
export interface IdentificationRules extends RevocationRules, GrantsRules, OpaqueRules {}

/** Creates the function that identifies principals: token -> principal -> revoked? -> granted scopes. */
export function createIdentifier(
  issuers: Issuers,
  cache: TokenCache<Principal> | undefined,
  rules: IdentificationRules,
): Identifier {
  const identifyOpaque = createOpaqueIdentifier(rules);
  const checks = revocationChecksOf(rules);
  const addGrants = createGrants(rules);
  const verify = (token: string) => verifyToken(token, issuers);
  const identifyJwt = cache ? withCache(cache, verify) : verify;

  const readToken = (token: string): Pending<Identified> => {
    const opaque = identifyOpaque?.(token);
    if (opaque) return opaque;
    // Before hashing: a client may send a token of any size.
    const malformed = findFormMistake(token, rules.maxTokenBytes);
    return malformed ? rejectToken(malformed.rejection) : identifyJwt(token);
  };
  const complete = async (pending: Pending<Identified>): Promise<Identified> => {
    const checked = await checkRevocation(await pending, checks);
    return addGrants ? addGrants(checked) : checked;
  };
  return (token) => {
    const identified = readToken(token);
    return addGrants || isPending(identified) ? complete(identified) : checkRevocation(identified, checks);
  };
}

async function verifyToken(token: string, issuers: Issuers): Promise<Identified> {
  const parsed = readJwt(token);
  if (parsed.kind === "rejected") return rejectToken(parsed.rejection);
  const selection = issuers.verifierFor(parsed.jwt);
  if (selection.kind === "rejected") return rejectToken(selection.rejection);
  const { verifier } = selection;
  const verification = await verifier.verify(parsed.jwt);
  if (verification.kind === "unavailable")
    return unavailable(verification.cause, verification.retryAfterSeconds);
  if (verification.kind === "rejected") return rejectToken(verification.rejection, verification.claim);
  const result = readPrincipal(verification.claims, verifier.principal);
  if (result.kind === "invalid") return rejectToken("claims", result.claim, result.cause);
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
    const inProgress = principal ? undefined : pending.get(digest);
    if (principal || inProgress) cache.publish("hit");
    if (principal) return { kind: "identified", principal };
    if (inProgress) return inProgress;
    const verification = verifyOnce(token, digest);
    pending.set(digest, verification);
    return verification;
  };
}
