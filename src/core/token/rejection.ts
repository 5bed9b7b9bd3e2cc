/** Why a token doesn't become a principal. */
import type { Rejection } from "../errors.ts";
import type { Writable } from "../runtime/compact.ts";

/** The token isn't accepted. */
export interface RejectedToken {
  readonly kind: "rejected";
  readonly rejection: Rejection;
  /** The missing or invalid claim. */
  readonly claim?: string;
  /** A sentence for the operator's log. */
  readonly cause?: string;
}

/** The token couldn't be checked. It may be valid. */
export interface UncheckedToken {
  readonly kind: "unavailable";
  /** The error, for the operator's log. */
  readonly cause: unknown;
  /** After how many seconds the client may try again, if known. */
  readonly retryAfterSeconds?: number;
}

export function rejectToken(rejection: Rejection, claim?: string, cause?: string): RejectedToken {
  const rejected: Writable<RejectedToken> = { kind: "rejected", rejection };
  if (claim !== undefined) rejected.claim = claim;
  if (cause !== undefined) rejected.cause = cause;
  return rejected;
}

export const unavailable = (cause: unknown, retryAfterSeconds?: number): UncheckedToken =>
  retryAfterSeconds ? { kind: "unavailable", cause, retryAfterSeconds } : { kind: "unavailable", cause };
