/** Tokens that are not JWTs, such as API keys: how they are recognized, and how they become a principal. */
import { type Rejection } from "../errors.ts";
import { readClock } from "../runtime/clock.ts";
import { isPending, type Pending } from "../runtime/pending.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { type ScopeRules } from "../scopes/scope.ts";
import { type ClaimPath } from "./claim-path.ts";
import { type Identified, rejectToken, unavailable } from "./identified.ts";
import { type Principal, type PrincipalRules, readPrincipal, type TokenKind } from "./principal.ts";
import { findUnmetRequirement, type TokenRequirements } from "./required-claims.ts";

/** The result for one opaque token. */
export type OpaqueVerification =
  | {
      readonly kind: "verified";
      /** The same object for the same answer, so that the principal stays the same. Its values are frozen. */
      readonly claims: Record<string, unknown>;
    }
  | {
      readonly kind: "rejected";
      readonly rejection: Rejection;
      readonly claim?: string;
      /** A sentence for the operator's log. */
      readonly cause?: string;
    }
  | {
      /** The token could not be checked: it may be valid. */
      readonly kind: "unavailable";
      readonly cause: unknown;
      readonly retryAfterSeconds?: number;
    };

/** The settings of the server that verifies the token. */
export interface OpaqueContext {
  /** The claim of the user, as in JWTs. */
  readonly userIdClaim: ClaimPath;
  /** The claim of the session, as in JWTs. */
  readonly sessionIdClaim: ClaimPath;
  /** The clock of the server, in milliseconds. */
  readonly now: () => number;
  /** The expected `aud`; `undefined` if the audience is not verified. */
  readonly audience: readonly string[] | undefined;
  /** The tolerated clock difference for the times of a token, in seconds. */
  readonly clockToleranceSeconds: number;
}

/** A kind of token that is not a JWT: an entry of the option `opaqueTokens`. */
export interface OpaqueTokens {
  /** The `tokenKind` of the principals. */
  readonly tokenKind: TokenKind;
  /** The claim with the scopes. */
  readonly scopesClaim: ClaimPath;
  /** The only `iss` that it accepts. Absent: if a token has an `iss`, the server must accept this issuer. */
  readonly issuer?: string | undefined;
  /** The names of all claims that its tokens can have. Absent: any. */
  readonly claimNames?: readonly string[] | undefined;
  /** Returns whether a token is of this kind, by its characters. The first matching kind verifies it. */
  matches(token: string): boolean;
  /** Verifies a token. If it is rejected, no other kind is tried. */
  verify(token: string, context: OpaqueContext): Pending<OpaqueVerification>;
  /** Stops background work. */
  close?(): void;
}

/** Creates the function that identifies opaque tokens. It returns `undefined` for all other tokens. */
export function createOpaqueIdentifier({
  opaqueTokens,
  opaqueContext,
  opaqueRequirements,
  scopeRules,
  maxTokenBytes,
}: OpaqueRules): ((token: string) => Pending<Identified> | undefined) | undefined {
  const readers = opaqueTokens.map((kind) => ({
    kind,
    read: createOpaqueReader(
      principalRulesOf(kind, opaqueContext, scopeRules),
      createRequirementCheck(kind, opaqueRequirements, opaqueContext),
    ),
  }));
  if (readers.length === 0) return undefined;
  return (token) => {
    // Untyped code may pass undefined.
    if (typeof (token as unknown) !== "string" || token.length > maxTokenBytes) return undefined;
    const reader = readers.find(({ kind }) => kind.matches(token));
    return reader && identifyOpaque(() => reader.kind.verify(token, opaqueContext), reader.read);
  };
}

export interface OpaqueRules {
  readonly opaqueTokens: readonly OpaqueTokens[];
  readonly opaqueContext: OpaqueContext;
  readonly opaqueRequirements: OpaqueRequirements;
  readonly scopeRules: ScopeRules;
  readonly maxTokenBytes: number;
}

/** What tokens that are not JWTs must satisfy. */
export interface OpaqueRequirements {
  /** The requirements of the server. */
  readonly shared: TokenRequirements;
  /** The requirements of each issuer that the server accepts. Empty: any issuer, with those of the server. */
  readonly byIssuer: ReadonlyMap<string, TokenRequirements>;
}

/** Returns what the tokens of an issuer must satisfy. */
export const requirementsOf = (
  { shared, byIssuer }: OpaqueRequirements,
  issuer: string | undefined,
): TokenRequirements => (issuer === undefined ? undefined : byIssuer.get(issuer)) ?? shared;

type OpaqueReader = (verification: OpaqueVerification) => Identified;

/** Returns the refusal of a token that does not satisfy what every token must satisfy. */
type RequirementCheck = (
  claims: Readonly<Record<string, unknown>>,
  issuer: string | undefined,
) => Identified | undefined;

/** Creates the check for one kind. It runs for each request, because tokens become too old. */
function createRequirementCheck(
  { issuer: issuerOfKind }: OpaqueTokens,
  requirements: OpaqueRequirements,
  { now, clockToleranceSeconds }: OpaqueContext,
): RequirementCheck {
  return (claims, issuer) => {
    const isForeign = issuerOfKind === undefined && issuer !== undefined && requirements.byIssuer.size > 0;
    if (isForeign && !requirements.byIssuer.has(issuer)) return rejectToken("issuer");
    const times = { now: readClock(now).getTime() / 1000, tolerance: clockToleranceSeconds };
    const unmet = findUnmetRequirement(claims, requirementsOf(requirements, issuer), times);
    return unmet && rejectToken(unmet.rejection, unmet.claim);
  };
}

function identifyOpaque(verify: () => Pending<OpaqueVerification>, read: OpaqueReader): Pending<Identified> {
  try {
    const verification = verify();
    if (!isPending(verification)) return read(verification);
    return withinLimit(verification, "The check of the token").then(read).catch(unavailable);
  } catch (cause) {
    return unavailable(cause);
  }
}

/** Creates one principal for each object of claims, for one server: scope hierarchies may differ. */
function createOpaqueReader(rules: PrincipalRules, check: RequirementCheck): OpaqueReader {
  const principals = new WeakMap<object, Principal>();
  return (verification) => {
    if (verification.kind === "unavailable")
      return unavailable(verification.cause, verification.retryAfterSeconds);
    if (verification.kind === "rejected")
      return rejectToken(verification.rejection, verification.claim, verification.cause);
    const { claims } = verification;
    let principal = principals.get(claims);
    if (!principal) {
      // A copy, because `readPrincipal` changes it, and the claims may be frozen.
      const result = readPrincipal({ ...claims }, rules);
      if (result.kind === "invalid") return rejectToken("claims", result.claim, result.cause);
      ({ principal } = result);
      principals.set(claims, principal);
    }
    return check(principal.claims, principal.issuer) ?? { kind: "identified", principal };
  };
}

/** Returns the rules for reading the claims of a kind. */
const principalRulesOf = (
  { scopesClaim, tokenKind }: OpaqueTokens,
  { userIdClaim, sessionIdClaim }: OpaqueContext,
  scopeRules: ScopeRules,
): PrincipalRules => ({
  scopeSources: [{ claim: scopesClaim }],
  // This package creates the claims of an API key.
  userIdClaim: tokenKind === "api_key" ? "sub" : userIdClaim,
  sessionIdClaim,
  scopeRules,
  tokenKind,
});
