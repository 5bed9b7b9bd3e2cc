/** How a token that isn't a JWT becomes a principal. */
import { readClock } from "../../core/runtime/clock.ts";
import { isPending, type Pending } from "../../core/runtime/pending.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import { claimAt } from "../../core/token/claim-path.ts";
import { isClientAllowed } from "../../core/token/clients.ts";
import type { Identified } from "../../core/token/identification.ts";
import { isIssuedLater } from "../../core/token/issued-at.ts";
import type {
  OpaqueContext,
  OpaqueKind,
  OpaqueRules,
  OpaqueVerification,
  TokenRequirements,
} from "../../core/token/opaque-tokens.ts";
import { type Principal, type PrincipalRules, readPrincipal } from "../../core/token/principal.ts";
import { type RejectedToken, rejectToken, unavailable } from "../../core/token/rejection.ts";
import { findUnmetClaim } from "../../core/token/required-claims.ts";
import { type OpaqueRequirements, requirementsOf } from "./requirements.ts";

/** Creates one principal for each object of claims, per server: scope hierarchies may differ. */
export function createKindIdentifier(
  kind: OpaqueKind,
  requirements: OpaqueRequirements,
  context: OpaqueContext,
  { scopeRules, keyProofs }: OpaqueRules,
): (token: string) => Pending<Identified> {
  const { now, clockToleranceSeconds, userIdClaim, sessionIdClaim } = context;
  const { scopesClaim, tokenKind } = kind;
  const principals = new WeakMap<object, Principal>();
  const principalRules: PrincipalRules = {
    scopeSources: [{ claim: scopesClaim }],
    // This package creates the claims of an API key, so their names are fixed.
    userIdClaim: tokenKind === "api_key" ? "sub" : userIdClaim,
    sessionIdClaim,
    scopeRules,
    keyProofs,
    tokenKind,
    tenant: undefined,
    limitScopes: undefined,
  };
  /** Runs for each request, because tokens get older. */
  const checkRequirements = (principal: Principal): Identified => {
    const { claims, issuer } = principal;
    const { byIssuer } = requirements;
    const isForeign = kind.issuer === undefined && issuer !== undefined && byIssuer.size > 0;
    if (isForeign && !byIssuer.has(issuer)) return rejectToken("issuer");
    const times = { now: readClock(now).getTime() / 1000, tolerance: clockToleranceSeconds };
    const unmet = findUnmetRequirement(claims, requirementsOf(requirements, issuer), times);
    return unmet ?? { kind: "identified", principal };
  };
  const readVerification = (verification: OpaqueVerification): Identified => {
    if (verification.kind === "unavailable")
      return unavailable(verification.cause, verification.retryAfterSeconds);
    if (verification.kind === "rejected")
      return rejectToken(verification.rejection, verification.claim, verification.cause);
    const { claims } = verification;
    const earlier = principals.get(claims);
    if (earlier) return checkRequirements(earlier);
    // A copy, because `readPrincipal` changes the object, and the claims may be frozen.
    const identified = readPrincipal({ ...claims }, principalRules);
    if (identified.kind === "rejected") return identified;
    principals.set(claims, identified.principal);
    return checkRequirements(identified.principal);
  };
  return (token) => {
    try {
      const verification = kind.verify(token, context);
      if (!isPending(verification)) return readVerification(verification);
      return withinLimit(verification, "The check of the token").then(readVerification).catch(unavailable);
    } catch (cause) {
      return unavailable(cause);
    }
  };
}

/** Returns why a token that isn't a JWT doesn't satisfy the requirements. Times are in seconds. */
function findUnmetRequirement(
  claims: Principal["claims"],
  { requiredClaims, clients, maxTokenAgeSeconds }: TokenRequirements,
  { now, tolerance }: { readonly now: number; readonly tolerance: number },
): RejectedToken | undefined {
  const claim = findUnmetClaim(claims, requiredClaims);
  if (claim !== undefined) return rejectToken("claims", claim);
  if (clients && !isClientAllowed(claims, clients)) return rejectToken("claims", "client_id");
  const [iat, nbf] = [claimAt(claims, "iat"), claimAt(claims, "nbf")];
  const isEarly = typeof nbf === "number" && nbf > now + tolerance;
  if (isEarly || isIssuedLater(iat, now, tolerance)) return rejectToken("not_yet_valid");
  if (maxTokenAgeSeconds === undefined) return undefined;
  if (typeof iat !== "number") return rejectToken("claims", "iat");
  if (iat > now + tolerance) return rejectToken("not_yet_valid");
  return now - tolerance - iat > maxTokenAgeSeconds ? rejectToken("expired") : undefined;
}
