import { type Rejection } from "../errors.ts";
import { type Writable } from "../runtime/compact.ts";
import { type Principal } from "./principal.ts";
import { type Acceptance } from "./token-cache.ts";

/** The principal of a token, or why there is none. */
export type Identified =
  | {
      readonly kind: "identified";
      readonly principal: Principal;
      /** For the cache: the key that verified the token, and how long the token is accepted. */
      readonly acceptance?: Acceptance;
    }
  | { readonly kind: "refused"; readonly refusal: TokenRefusal };

/** The token was rejected, or could not be checked. */
export interface TokenRefusal {
  readonly reason: "token_rejected" | "keys_unavailable";
  readonly rejection?: Rejection;
  /** The missing or invalid claim. */
  readonly claim?: string;
  /** The error, for the operator's log. */
  readonly cause?: unknown;
  /** In how many seconds the keys may be available. */
  readonly retryAfterSeconds?: number;
  /** The principal of a revoked token. */
  readonly principal?: Principal;
}

export function rejectToken(rejection: Rejection, claim?: string, cause?: string): Identified {
  const refusal: Writable<TokenRefusal> = { reason: "token_rejected", rejection };
  if (claim !== undefined) refusal.claim = claim;
  if (cause !== undefined) refusal.cause = cause;
  return { kind: "refused", refusal };
}

export const unavailable = (cause: unknown, retryAfterSeconds?: number): Identified => ({
  kind: "refused",
  refusal: retryAfterSeconds
    ? { reason: "keys_unavailable", cause, retryAfterSeconds }
    : { reason: "keys_unavailable", cause },
});
