/** How the refusals of a server that checks DPoP proofs look (RFC 9449 section 7). */
import type { Refused } from "../../core/policy/decision.ts";
import type { Challenge } from "../../core/response/challenge.ts";
import type { Nonces } from "./nonces.ts";

/** What clients of DPoP need to know. */
export interface DpopOffer {
  readonly algorithms: readonly string[];
  /** Whether every token needs a proof. If so, `Bearer` isn't offered. */
  readonly isOnlyScheme: boolean;
}

/**
 * The parameters belong to the scheme that was used. A 401 for a bearer token also offers DPoP (RFC 9449
 * section 7.2). A refused proof has only one challenge, because many clients send a nonce only if
 * DPoP is the only scheme that is offered.
 */
export function createChallenges(
  bearer: Challenge,
  refused: Refused,
  status: number,
  { algorithms, isOnlyScheme }: DpopOffer,
): readonly Challenge[] {
  const dpop = { scheme: "DPoP", algorithms } as const;
  const error = proofErrorOf(refused);
  if (error) return [{ ...bearer, ...dpop, error }];
  if (isOnlyScheme || isFromDpop(refused)) return [{ ...bearer, ...dpop }];
  return status === 401 ? [bearer, dpop] : [bearer];
}

/** Returns whether the token was sent with the scheme DPoP, or would have to be. */
const isFromDpop = ({ reason, scheme, binding, principal }: Refused): boolean =>
  scheme === "DPoP" || principal?.binding === "dpop" || (reason === "proof_missing" && binding === undefined);

/**
 * RFC 9449 sections 7.1 and 9. Otherwise `undefined`: a wrong or missing certificate is `invalid_token` (RFC
 * 8705 section 3). So is a token that should be bound but isn't: only another token would help.
 */
function proofErrorOf({ reason, binding, proofRejection }: Refused): Challenge["error"] {
  if (reason === "proof_missing") return binding === "dpop" ? "invalid_dpop_proof" : undefined;
  if (reason !== "proof_rejected" || proofRejection === "certificate") return undefined;
  return proofRejection === "nonce" ? "use_dpop_nonce" : "invalid_dpop_proof";
}

/** Returns the field with a nonce for the client (RFC 9449 sections 8.2 and 9). */
export const nonceHeader = (nonces: Nonces): Readonly<Record<string, string>> => ({
  "DPoP-Nonce": nonces.current(),
});
