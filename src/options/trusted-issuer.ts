import { type Algorithm } from "../keys/algorithm.ts";
import { type KeySource } from "../keys/key-source.ts";
import { type ClaimPath } from "../token/principal.ts";

/**
 * One of several issuers, with its own keys and algorithms, which never verify a token of another issuer. An
 * omitted option has the value of the server's option of the same name. `undefined` is a configuration error.
 */
export interface TrustedIssuer {
  /** The `iss` of its tokens, compared exactly. Every issuer can be listed only once. */
  readonly issuer: string;
  /** Where its keys come from. */
  readonly keys: KeySource;
  /** The algorithms it signs with (RFC 8725 section 3.1). Required, as a key does not determine them. */
  readonly algorithms: readonly Algorithm[];
  /** The expected `aud`; one of an array is enough. */
  readonly audience?: string | readonly string[];
  /**
   * Whether `aud` must name this service (RFC 7519 section 4.1.3). `false` also accepts the tokens that the
   * issuer created for other services. Default: `true`.
   */
  readonly verifyAudience?: boolean;
  /** The claim with the scopes: an array of strings, or one space-delimited string. Default: `"scopes"`. */
  readonly scopesClaim?: ClaimPath;
  /** The claim for `principal.userId`. Default: `"sub"`. */
  readonly userIdClaim?: ClaimPath;
  /** The claim for `principal.sessionId`. Default: `"session_id"`. */
  readonly sessionIdClaim?: ClaimPath;
  /** The claims that a token must contain in addition to the scopes, such as `["exp"]`. Default: `[]`. */
  readonly requiredClaims?: readonly string[];
  /**
   * The accepted `typ` header values, case-insensitive; `null` accepts a missing `typ`.
   * Default: `["JWT", "at+jwt", "application/at+jwt", null]`.
   */
  readonly tokenTypes?: readonly (string | null)[];
  /** The tolerated clock difference for `exp`, `nbf` and `iat`, in seconds. Default: `0`. */
  readonly clockToleranceSeconds?: number;
  /** The maximum age of a token since its `iat`, in seconds. Default: no limit. */
  readonly maxTokenAgeSeconds?: number;
}

/** The defaults of the options that issuers have too. */
export const TOKEN_DEFAULTS = {
  verifyAudience: true,
  scopesClaim: "scopes",
  userIdClaim: "sub",
  sessionIdClaim: "session_id",
  tokenTypes: ["JWT", "at+jwt", "application/at+jwt", null],
  clockToleranceSeconds: 0,
} as const satisfies Partial<TrustedIssuer>;
