/** Tokens that aren't JWTs, such as API keys: how they are recognized, and how they become a principal. */
import { readClock } from "../runtime/clock.ts";
import { isPending, type Pending } from "../runtime/pending.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import type { ScopeRules } from "../scopes/scope.ts";
import type { TokenBinding } from "./binding/confirmation.ts";
import type { ClaimPath } from "./claim-path.ts";
import type { Identified } from "./identification.ts";
import { type OpaqueRequirements, requirementsOf } from "./opaque-requirements.ts";
import { type Principal, type PrincipalRules, readPrincipal, type TokenKind } from "./principal.ts";
import { type RejectedToken, rejectToken, type UncheckedToken, unavailable } from "./rejection.ts";
import { findUnmetRequirement } from "./required-claims.ts";

/** The result for one opaque token. */
export type OpaqueVerification =
  | {
      readonly kind: "verified";
      /** The same object for the same result, so that the principal stays the same. Its values are frozen. */
      readonly claims: Record<string, unknown>;
    }
  | RejectedToken
  | UncheckedToken;

/** The settings of the server that verifies the token. */
export interface OpaqueContext {
  /** The claim of the user, as in JWTs. */
  readonly userIdClaim: ClaimPath;
  /** The claim of the session, as in JWTs. */
  readonly sessionIdClaim: ClaimPath;
  /** The clock of the server, in milliseconds. */
  readonly now: () => number;
  /** The expected `aud`; `undefined` if the audience isn't verified. */
  readonly audience: readonly string[] | undefined;
  /** The tolerated clock difference for the times of a token, in seconds. */
  readonly clockToleranceSeconds: number;
}

/** The state of one kind of tokens that aren't JWTs, if another service is asked about them. */
export interface OpaqueStatus {
  /** The `tokenKind` of the principals. */
  readonly tokenKind: TokenKind;
  /** `degraded`: the last request failed. After several failures, only remembered tokens are accepted. */
  readonly state: "ok" | "degraded";
  /** The number of pending requests. */
  readonly underWay: number;
  /** Why the state isn't `ok`. */
  readonly cause?: unknown;
}

/** A kind of token that isn't a JWT: an entry of the option `opaqueTokens`. */
export interface OpaqueTokens {
  /** The `tokenKind` of the principals. */
  readonly tokenKind: TokenKind;
  /** The claim with the scopes. */
  readonly scopesClaim: ClaimPath;
  /**
   * The only `iss` that it accepts. If absent: the `iss` of a token, if it has one, must be an issuer that
   * the server accepts.
   */
  readonly issuer?: string | undefined;
  /** The names of all claims that its tokens can have. If absent: any. */
  readonly claimNames?: readonly string[] | undefined;
  /** Returns whether a token is of this kind, by its characters. The first matching kind verifies it. */
  matches(token: string): boolean;
  /** Verifies a token. If it is rejected, no other kind is tried. */
  verify(token: string, context: OpaqueContext): Pending<OpaqueVerification>;
  /** The prefixes of its tokens, which no other kind may share. If absent: only `matches` recognizes them. */
  readonly prefixes?: readonly string[] | undefined;
  /** Returns the current state, for `server.health()`. */
  status?(context: OpaqueContext): OpaqueStatus;
  /** Stops the background work for a server. */
  close?(context: OpaqueContext): void;
}

/** Creates the function that identifies opaque tokens. It returns `undefined` for all other tokens. */
export function createOpaqueIdentifier(
  rules: OpaqueRules,
): ((token: string) => Pending<Identified> | undefined) | undefined {
  if (rules.opaqueTokens.length === 0) return undefined;
  const kinds = rules.opaqueTokens.map((kind) => ({ kind, identify: createKindIdentifier(kind, rules) }));
  return (token) => {
    // Untyped code may pass undefined.
    if (typeof (token as unknown) !== "string" || token.length > rules.maxTokenBytes) return undefined;
    return kinds.find(({ kind }) => kind.matches(token))?.identify(token);
  };
}

export interface OpaqueRules {
  readonly opaqueTokens: readonly OpaqueTokens[];
  readonly opaqueContext: OpaqueContext;
  readonly opaqueRequirements: OpaqueRequirements;
  readonly scopeRules: ScopeRules;
  readonly bindings: readonly TokenBinding[];
  readonly maxTokenBytes: number;
}

/** Creates one principal for each object of claims, per server: scope hierarchies may differ. */
function createKindIdentifier(
  kind: OpaqueTokens,
  { opaqueContext, opaqueRequirements, scopeRules, bindings }: OpaqueRules,
): (token: string) => Pending<Identified> {
  const { now, clockToleranceSeconds, userIdClaim, sessionIdClaim } = opaqueContext;
  const { scopesClaim, tokenKind } = kind;
  const principals = new WeakMap<object, Principal>();
  const principalRules: PrincipalRules = {
    scopeSources: [{ claim: scopesClaim }],
    // This package creates the claims of an API key, so their names are fixed.
    userIdClaim: tokenKind === "api_key" ? "sub" : userIdClaim,
    sessionIdClaim,
    scopeRules,
    bindings,
    tokenKind,
  };
  /** Runs for each request, because tokens get older. */
  const checkRequirements = (principal: Principal): Identified => {
    const { claims, issuer } = principal;
    const { byIssuer } = opaqueRequirements;
    const isForeign = kind.issuer === undefined && issuer !== undefined && byIssuer.size > 0;
    if (isForeign && !byIssuer.has(issuer)) return rejectToken("issuer");
    const times = { now: readClock(now).getTime() / 1000, tolerance: clockToleranceSeconds };
    const unmet = findUnmetRequirement(claims, requirementsOf(opaqueRequirements, issuer), times);
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
      const verification = kind.verify(token, opaqueContext);
      if (!isPending(verification)) return readVerification(verification);
      return withinLimit(verification, "The check of the token").then(readVerification).catch(unavailable);
    } catch (cause) {
      return unavailable(cause);
    }
  };
}
