/** How far the clock of an issuer may be ahead of ours. */

/**
 * A token whose `iat` is further in the future is refused. A revocation up to a time includes tokens that are
 * younger by this much, so it revokes every token that was accepted before it.
 */
const LEAST_SECONDS = 5;

export const iatToleranceOf = (clockToleranceSeconds: number): number =>
  Math.max(clockToleranceSeconds, LEAST_SECONDS);

/** Returns whether a token was issued in the future. Times are in seconds. */
export const isIssuedLater = (iat: unknown, now: number, clockToleranceSeconds: number): boolean =>
  Number.isFinite(iat) && Number(iat) > now + iatToleranceOf(clockToleranceSeconds);
