import { type Algorithm } from "../keys/algorithm.ts";
import { type KeySource } from "../keys/key-source.ts";
import { type ClaimPath } from "../token/principal.ts";

/**
 * One of several issuers, bound to its own keys and algorithms: none of them vouches for a token of another issuer. What
 * it leaves out is as the server's option of the same name says; what it gives as `undefined` is a configuration error.
 */
export interface TrustedIssuer {
  /** The `iss` of its tokens, compared exactly; each issuer once. */
  readonly issuer: string;
  /** Where its keys come from. */
  readonly keys: KeySource;
  /** The algorithms that it signs with (RFC 8725 section 3.1). Required: nothing is guessed from a key. */
  readonly algorithms: readonly Algorithm[];
  /** The `aud` that it gives to this service. */
  readonly audience?: string | readonly string[];
  /** `false` for an issuer whose access tokens have no `aud`: every token that it issues is accepted then. */
  readonly verifyAudience?: boolean;
  /** The claim in which it writes scopes. */
  readonly scopesClaim?: ClaimPath;
  /** The claim that becomes `principal.userId`. */
  readonly userIdClaim?: ClaimPath;
  /** The claim that becomes `principal.sessionId`. */
  readonly sessionIdClaim?: ClaimPath;
  /** Claims that its tokens must have, on top of the scopes. */
  readonly requiredClaims?: readonly string[];
  /** The accepted `typ` header values; `null` for none. */
  readonly tokenTypes?: readonly (string | null)[];
  /** How far its clock may be off, in seconds. */
  readonly clockToleranceSeconds?: number;
  /** How old its tokens may be, counted from `iat`, in seconds. */
  readonly maxTokenAgeSeconds?: number;
}
