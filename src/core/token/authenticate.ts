import { CACHE_CHANNEL } from "../runtime/channels.ts";
import { isPending, type Pending } from "../runtime/pending.ts";
import type { Grants, GrantsContext } from "./grants.ts";
import type { Identified } from "./identification.ts";
import type { Issuers } from "./issuers.ts";
import { findFormMistake, readJwt } from "./jwt-parts.ts";
import type { OpaqueIdentification, OpaqueRules } from "./opaque-tokens.ts";
import { readPrincipal } from "./principal.ts";
import { checkRevocation, type RevocationRules, revocationChecksOf } from "./revocation-check.ts";
import type { TokenCache } from "./token-cache.ts";

/** Identifies the principal of a token; synchronously, if it's remembered and nothing returns a promise. */
export type Identifier = (token: string) => Pending<Identified>;

/** The options for tokens that aren't JWTs, and for the steps after a token is verified. */
export interface IdentificationRules extends RevocationRules, GrantsContext, OpaqueRules {
  readonly grants: Grants | undefined;
  readonly opaque: OpaqueIdentification | undefined;
}

/** Creates the function that identifies principals: token -> principal -> revoked? -> granted scopes. */
export function createIdentifier(
  issuers: Issuers,
  cache: TokenCache | undefined,
  rules: IdentificationRules,
): Identifier {
  const identifyOpaque = rules.opaque?.createIdentifier(rules);
  const checks = revocationChecksOf(rules);
  const addGrants = rules.grants?.create(rules);
  const verify = (token: string) => verifyToken(token, issuers);
  const identifyJwt = cache ? withCache(cache, verify) : verify;

  const readToken = (token: string): Pending<Identified> => {
    const opaque = identifyOpaque?.(token);
    if (opaque) return opaque;
    // Checked before hashing, because a client may send a token of any size.
    return findFormMistake(token, rules.maxTokenBytes) ?? identifyJwt(token);
  };
  if (checks.length === 0 && !addGrants) return readToken;

  const complete = (identified: Identified): Pending<Identified> => {
    const checked = checkRevocation(identified, checks);
    if (!addGrants) return checked;
    return isPending(checked) ? checked.then(addGrants) : addGrants(checked);
  };
  return (token) => {
    const identified = readToken(token);
    return isPending(identified) ? identified.then(complete) : complete(identified);
  };
}

async function verifyToken(token: string, issuers: Issuers): Promise<Identified> {
  const parsed = readJwt(token);
  if (parsed.kind === "rejected") return parsed;
  const lookup = issuers.verifierFor(parsed.jwt);
  const verifier = isPending(lookup) ? await lookup : lookup;
  if (verifier.kind !== "verifier") return verifier;
  const verification = await verifier.verify(parsed.jwt);
  if (verification.kind !== "verified") return verification;
  const { claims, key, endsAt } = verification;
  const identified = readPrincipal(claims, verifier.principal);
  if (identified.kind === "rejected") return identified;
  const { principal } = identified;
  return { kind: "identified", principal, acceptance: { keys: verifier.keys, key, endsAt } };
}

/** Caches accepted tokens. If several requests send one token at the same time, it's verified only once. */
function withCache(cache: TokenCache, verify: (token: string) => Promise<Identified>): Identifier {
  const pending = new Map<string, Promise<Identified>>();
  const verifyOnce = async (token: string, digest: string): Promise<Identified> => {
    const since = CACHE_CHANNEL.hasSubscribers ? performance.now() : undefined;
    try {
      const result = await verify(token);
      if (result.kind === "identified" && result.acceptance)
        cache.set(digest, token, result.principal, result.acceptance);
      return result;
    } finally {
      pending.delete(digest);
      cache.publish("miss", since);
    }
  };
  return (token) => {
    const digest = cache.digestOf(token);
    const identified = cache.get(digest) ?? pending.get(digest);
    if (identified) cache.publish("hit");
    if (identified) return identified;
    const verification = verifyOnce(token, digest);
    pending.set(digest, verification);
    return verification;
  };
}
