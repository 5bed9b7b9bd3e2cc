import type { ScopeRules } from "../scopes/granted-scopes.ts";
import type { Actor } from "./actors.ts";
import type { ClaimPath } from "./claim-path.ts";
import type { ClaimSource, TenantSource } from "./claim-values.ts";
import type { ConfirmationReader, TokenBinding } from "./confirmation.ts";
import type { ResolvedScopeSource } from "./scope-sources.ts";

/** The kinds of tokens that aren't JWTs: an API key, or a token that its issuer looks up (RFC 7662). */
export type TokenKind = "api_key" | "introspected";

/** The claims that a principal is read from, and the scope hierarchy. */
export interface PrincipalRules {
  readonly scopeSources: readonly ResolvedScopeSource[];
  readonly userIdClaim: ClaimPath;
  readonly sessionIdClaim: ClaimPath;
  readonly scopeRules: ScopeRules;
  /** Without it, no token can be bound to a key. */
  readonly keyProofs: ConfirmationReader | undefined;
  /** Absent for JWTs. */
  readonly tokenKind?: TokenKind;
  /** The tenant of the issuer. An own property, so that a polluted prototype names none. */
  readonly tenant?: string | undefined;
  /** Drops the scopes that the issuer can't grant; `undefined` if it can grant all of them. */
  readonly limitScopes?: ((scopes: readonly string[]) => readonly string[]) | undefined;
}

/** The caller of a request, read from the claims of a verified token (RFC 7519 section 4). Deeply frozen. */
export interface Principal {
  /** The `sub` claim, or the claim of the option `userIdClaim`; an integer as its decimal string. */
  readonly userId?: string;
  /** The `session_id` claim, or the claim of the option `sessionIdClaim`; an integer as a string too. */
  readonly sessionId?: string;
  /** The scopes that the token grants, and those of `grants`. Use `has` to check what they cover. */
  readonly scopes: readonly string[];
  /** The `aud` claim as an array; empty if the token has none. */
  readonly audience: readonly string[];
  /** The `iss` claim. */
  readonly issuer?: string;
  /** The tenant that the options bind the issuer to. Absent for an issuer without one. */
  readonly tenant?: string;
  /** The `jti` claim. */
  readonly tokenId?: string;
  /** The `exp` claim, in seconds since the epoch. */
  readonly expiresAt?: number;
  /** Who acts for the user: the outermost `act` (RFC 8693 section 4.1). Absent if nobody does. */
  readonly actor?: Actor;
  /** The chain of actors, at most eight, the current one first. Only the first one decides anything. */
  readonly delegation?: readonly Actor[];
  /**
   * How the token is bound to a key that the client has proved to hold: by DPoP (RFC 9449), or by the TLS
   * certificate (RFC 8705). Absent for a bearer token.
   */
  readonly binding?: TokenBinding;
  /** The kind of token, if it wasn't a JWT: an API key, or a token that its issuer looked up. */
  readonly tokenKind?: TokenKind;
  /** All claims of the verified token. Check the type of the claims that you read. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Returns whether the granted scopes cover a scope, including by the admin scope and implied scopes. */
  has(scope: string): boolean;
  /** Returns the ids with `resource:<id>:action` granted, or `"all"`, to filter a list with `<any>`. */
  resourceIds(resource: string, action: string): "all" | ReadonlySet<string>;
  /**
   * Returns the values of a claim, or the tenant, as `where` compares them. A handler can filter its list by
   * them. Empty for a claim that is neither a string, a safe integer nor an array of them.
   */
  values(this: Principal, source: ClaimSource | TenantSource): ReadonlySet<string>;
}
