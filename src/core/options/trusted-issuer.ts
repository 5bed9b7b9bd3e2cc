import type { Algorithm } from "../keys/algorithm.ts";
import type { Keys, PlainKeys } from "../keys/key-source.ts";
import type { VerificationKeyInput } from "../keys/verification-key.ts";
import type { ClaimPath } from "../token/claim-path.ts";
import type { RequiredClaims } from "../token/required-claims.ts";
import type { ScopeSource } from "../token/scope-sources.ts";

/**
 * One of several issuers, with its own keys and algorithms, which never verify a token of another issuer. An
 * omitted option has the value of the server's option with the same name. `undefined` is a configuration
 * error.
 */
export interface TrustedIssuer {
  /** The `iss` of its tokens, compared exactly. Every issuer can be listed only once. */
  readonly issuer: string;
  /** Its keys, as in the option of the server. Either these or `keys` is required. */
  readonly verificationKeys?: readonly VerificationKeyInput[];
  /** Where its keys come from: a value of `scopegate/keys`. */
  readonly keys?: Keys & PlainKeys;
  /**
   * The tenant that the issuer belongs to: `principal.tenant`, which `where` compares with `{ tenant: true
   * }`. Only in `issuers`. Default: none.
   */
  readonly tenant?: string;
  /**
   * The most that the issuer can grant. A scope of a token, or of `map`, that these scopes don't cover is
   * dropped before implied scopes are added, and so is `adminScope` if it isn't listed. Only in `issuers`,
   * and required in records of `issuersFrom`, which can't grant `adminScope` at all. Default: no limit.
   */
  readonly scopes?: readonly string[];
  /** The algorithms it signs with (RFC 8725 section 3.1). Required, because a key doesn't determine them. */
  readonly algorithms: readonly Algorithm[];
  /** The expected `aud`. If it's an array, one match is enough. */
  readonly audience?: string | readonly string[];
  /**
   * Whether `aud` must name this service (RFC 7519 section 4.1.3). `false` also accepts tokens that the
   * issuer created for other services. Default: `true`.
   */
  readonly verifyAudience?: boolean;
  /**
   * `true`: a token is rejected if its `aud` also names a service that isn't in `audience`, so that a token
   * for two services can't be passed on from one to the other. Default: `false`.
   */
  readonly audienceOnly?: boolean;
  /**
   * The claim with the scopes: an array of strings, or one space-delimited string. An array is the path of
   * one nested claim. The claim can contain `adminScope`, whatever the claim's name. Default: `"scopes"`.
   */
  readonly scopesClaim?: ClaimPath;
  /**
   * Several claims with scopes, or claims with roles that `map` turns into scopes. A token is granted the
   * scopes of all of them. Can't be combined with `scopesClaim`. Default: the claim of `scopesClaim`.
   */
  readonly scopeSources?: readonly ScopeSource[];
  /**
   * The claim for `principal.userId`: a string, or an integer from -(2^53 - 1) to 2^53 - 1, which becomes its
   * decimal string. A token with any other value is rejected. Default: `"sub"`.
   */
  readonly userIdClaim?: ClaimPath;
  /** The claim for `principal.sessionId`, with the same values as `userIdClaim`. Default: `"session_id"`. */
  readonly sessionIdClaim?: ClaimPath;
  /**
   * The claims that a token must contain in addition to the scopes: names (`["exp"]`), an object from a name
   * to the value, or to an array of accepted values (`{ token_use: "access" }`), or an array of both. Values
   * are compared exactly, so a claim that is an array never matches. Applies to JWTs, introspected tokens and
   * API keys. Default: `[]`.
   */
  readonly requiredClaims?: RequiredClaims;
  /**
   * The clients whose tokens are accepted. A token must have at least one of the claims `client_id`, `azp`
   * and `cid`, and each one that it has must be in this array. Also applies to introspected tokens; can't be
   * combined with API keys. For single routes, write `clients` in the table. Default: any client.
   */
  readonly clients?: readonly string[];
  /**
   * The accepted `typ` header values, case-insensitive; `null` accepts a missing `typ`.
   * Default: `["JWT", "at+jwt", "application/at+jwt", null]`.
   */
  readonly tokenTypes?: readonly (string | null)[];
  /** The tolerated clock difference for `exp`, `nbf` and `iat`, in seconds. Default: `0`. */
  readonly clockToleranceSeconds?: number;
  /**
   * The maximum age of a token since its `iat`, in seconds. Also applies to introspected tokens; can't be
   * combined with API keys. Default: no limit.
   */
  readonly maxTokenAgeSeconds?: number;
}
