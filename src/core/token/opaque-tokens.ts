/** The extension point for tokens that aren't JWTs, such as API keys. */
import type { Capability } from "../capability.ts";
import type { Report } from "../errors.ts";
import type { Pending } from "../runtime/pending.ts";
import type { ScopeRules } from "../scopes/granted-scopes.ts";
import type { ClaimPath } from "./claim-path.ts";
import type { ConfirmationReader } from "./confirmation.ts";
import type { Identified } from "./identification.ts";
import type { TokenKind } from "./principal.ts";
import type { RejectedToken, UncheckedToken } from "./rejection.ts";
import type { RequiredClaim, RequiredClaims } from "./required-claims.ts";

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
  /** Whether `aud` may name nothing else. Default: `false`. */
  readonly audienceOnly?: boolean | undefined;
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

/** A kind of token that isn't a JWT. */
export interface OpaqueKind {
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

/** An entry of the option `opaqueTokens`: `introspection(...)` or `apiKeys(...)`. */
export interface OpaqueTokens extends OpaqueKind, Capability {
  readonly option: "opaqueTokens";
  /** Resolves all entries of one server together, and reports those that can't be combined. */
  readonly resolve: (
    kinds: readonly OpaqueKind[],
    options: OpaqueOptions,
    context: OpaqueContext,
    report: Report,
  ) => OpaqueIdentification;
}

interface RequirementOptions {
  readonly requiredClaims?: RequiredClaims;
  readonly clients?: readonly string[];
  readonly maxTokenAgeSeconds?: number;
}

/** The options of the server that also apply to these tokens. */
export interface OpaqueOptions extends RequirementOptions {
  readonly issuer?: string;
  readonly issuers?: readonly (RequirementOptions & { readonly issuer: string })[];
}

/** The opaque tokens of one server. */
export interface OpaqueIdentification {
  /** Creates the function that identifies opaque tokens. It returns `undefined` for all other tokens. */
  readonly createIdentifier: (rules: OpaqueRules) => (token: string) => Pending<Identified> | undefined;
  /** Returns what the tokens of an issuer must satisfy. */
  readonly requirementsOf: (issuer: string | undefined) => TokenRequirements;
  readonly status: () => readonly OpaqueStatus[];
  readonly close: () => void;
}

export interface OpaqueRules {
  readonly scopeRules: ScopeRules;
  readonly keyProofs: ConfirmationReader | undefined;
  readonly maxTokenBytes: number;
}

/** What the server, or the issuer of a token, requires of a token that isn't a JWT. */
export interface TokenRequirements {
  readonly requiredClaims: readonly RequiredClaim[];
  /** The clients whose tokens are accepted; `undefined` for any. */
  readonly clients: ReadonlySet<string> | undefined;
  readonly maxTokenAgeSeconds: number | undefined;
}
