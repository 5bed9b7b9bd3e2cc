/** How far the clock of an issuer may be ahead of ours. */

/**
 * An `iat` that is later than now by more than this is refused, and a revocation up to a time includes tokens
 * that are this much younger: so each token that was accepted before a revocation is revoked by it.
 */
const LEAST_SECONDS = 5;

export const iatToleranceOf = (clockToleranceSeconds: number): number =>
  Math.max(clockToleranceSeconds, LEAST_SECONDS);

/** Returns whether a token was issued in the future. Times are in seconds. */
export const isIssuedLater = (iat: unknown, now: number, clockToleranceSeconds: number): boolean =>
  Number.isFinite(iat) && Number(iat) > now + iatToleranceOf(clockToleranceSeconds);
