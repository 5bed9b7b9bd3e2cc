import type { ScopeRules } from "../scopes/granted-scopes.ts";
import { compact, type Writable } from "../runtime/compact.ts";
import { scopeSetOf } from "../scopes/scope-sets.ts";
import { readDelegation } from "./actors.ts";
import { valuesOf as values } from "./claim-values.ts";
import { claimAt, claimNameOf, isOptionalString } from "./claim-path.ts";
import { describedBinding } from "./confirmation.ts";
import type { Principal, PrincipalRules } from "./principal-type.ts";
import { type RejectedToken, rejectToken } from "./rejection.ts";
import { readScopes } from "./scope-sources.ts";

export type { Principal, PrincipalRules, TokenKind } from "./principal-type.ts";

/** Reads a principal from verified claims. Freezes them, and lets principals share equal arrays of scopes. */
export function readPrincipal(
  claims: Record<string, unknown>,
  rules: PrincipalRules,
): { readonly kind: "identified"; readonly principal: Principal } | RejectedToken {
  const scopeClaims = readScopes(claims, rules.scopeSources);
  const audience = readAudience(claimAt(claims, "aud"));
  const userId = asId(claimAt(claims, rules.userIdClaim));
  const sessionId = asId(claimAt(claims, rules.sessionIdClaim));
  const issuer = claimAt(claims, "iss");
  const tokenId = claimAt(claims, "jti");
  const expiresAt = claimAt(claims, "exp");
  if (scopeClaims.kind === "rejected") return scopeClaims;
  if (!audience) return invalidClaim("aud");
  if (!isOptionalString(userId)) return invalidClaim(claimNameOf(rules.userIdClaim));
  if (!isOptionalString(sessionId)) return invalidClaim(claimNameOf(rules.sessionIdClaim));
  if (!isOptionalString(issuer)) return invalidClaim("iss");
  if (!isOptionalString(tokenId)) return invalidClaim("jti");
  // A token that is bound to a key must not be accepted without a proof of the key.
  const isBound = claimAt(claims, "cnf") !== undefined;
  const binding = isBound ? rules.keyProofs?.bindingOf(claims) : undefined;
  if (isBound && !binding) return invalidClaim("cnf");
  const delegation = readDelegation(claims);
  if (delegation.kind === "too deep") return invalidClaim("act");
  const invalidDate = DATES.find((name) => !isNumericDate(claimAt(claims, name)));
  if (invalidDate !== undefined) return invalidClaim(invalidDate);

  const scopes = rules.limitScopes?.(scopeClaims.scopes) ?? scopeClaims.scopes;
  const set = scopeSetOf(scopes, rules.scopeRules);
  const claim = rules.scopeSources[0]?.claim;
  if (typeof claim === "string" && claims[claim] === scopes) claims[claim] = set.scopes;
  const { has, resourceIds } = set;
  // Assigned one by one, because an object literal with spreads is slow, and every token needs one.
  const principal: Writable<Principal> = { has, resourceIds, values, scopes: set.scopes, audience, claims };
  if (userId !== undefined) principal.userId = userId;
  if (sessionId !== undefined) principal.sessionId = sessionId;
  if (issuer !== undefined) principal.issuer = issuer;
  if (rules.tenant !== undefined) principal.tenant = rules.tenant;
  if (tokenId !== undefined) principal.tokenId = tokenId;
  if (typeof expiresAt === "number") principal.expiresAt = expiresAt;
  if (rules.tokenKind) principal.tokenKind = rules.tokenKind;
  if (binding) principal.binding = binding;
  if (delegation.kind === "delegated") {
    principal.delegation = Object.freeze(delegation.actors);
    principal.actor = delegation.actors[0];
  }
  return { kind: "identified", principal: freezePrincipal(principal) };
}

const NO_AUDIENCE: readonly string[] = Object.freeze([]);

const DATES = ["exp", "nbf", "iat"] as const;

const invalidClaim = (claim: string): RejectedToken => rejectToken("claims", claim);

/** Creates a hypothetical principal, whose claims aren't from a token. */
export function createPrincipal(
  { scopes, audience, claims, tenant }: Pick<Principal, "scopes" | "audience" | "claims" | "tenant">,
  rules: ScopeRules,
): Principal {
  const set = scopeSetOf(scopes, rules);
  const { has, resourceIds } = set;
  const [userId, issuer] = [claimAt(claims, "sub"), claimAt(claims, "iss")];
  const delegation = readDelegation(claims);
  const principal: Principal = {
    has,
    resourceIds,
    values,
    scopes: set.scopes,
    audience: Object.freeze([...audience]),
    ...compact({
      userId: typeof userId === "string" ? userId : undefined,
      issuer: typeof issuer === "string" ? issuer : undefined,
      tenant,
      actor: delegation.kind === "delegated" ? delegation.actors[0] : undefined,
      delegation: delegation.kind === "delegated" ? Object.freeze(delegation.actors) : undefined,
      binding: describedBinding(claims),
    }),
    claims,
  };
  return freezePrincipal(principal);
}

/** Handlers of concurrent requests may share a principal, so none of them may change a claim. */
function freezePrincipal(principal: Principal): Principal {
  deepFreeze(principal.claims, principal.scopes);
  return Object.freeze(principal);
}

/** RFC 7519 section 4.1.3: one string, or an array of strings. */
function readAudience(value: unknown): readonly string[] | undefined {
  if (value === undefined) return NO_AUDIENCE;
  if (typeof value === "string") return sharedAudience(value);
  return isStringArray(value) ? Object.freeze(value) : undefined;
}

/** Most tokens have the same audience, so they share one array. */
let lastAudience: readonly string[] = NO_AUDIENCE;
function sharedAudience(audience: string): readonly string[] {
  if (lastAudience[0] !== audience) lastAudience = Object.freeze([audience]);
  return lastAudience;
}

/**
 * Returns a safe integer as its decimal string, and any other value unchanged. A larger number has lost
 * digits when it was parsed, so two users could get the same id.
 */
const asId = (value: unknown): unknown => (Number.isSafeInteger(value) ? String(value) : value);

const isStringArray = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** JSON.parse reads `1e400` as Infinity. A token with this `exp` would never expire. */
const isNumericDate = (value: unknown): boolean => value === undefined || Number.isFinite(value);

/** Freezes a JSON value. No recursion, because deeply nested claims must not overflow the stack. */
function deepFreeze(root: object, frozen: readonly string[]): void {
  const pending = [root];
  for (let next = pending.pop(); next; next = pending.pop()) {
    Object.freeze(next);
    const values = (Array.isArray(next) ? next : Object.values(next)) as readonly unknown[];
    for (const value of values)
      if (typeof value === "object" && value && value !== frozen) pending.push(value);
  }
}
