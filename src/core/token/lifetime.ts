/**
 * Returns when a token ends, in milliseconds since the epoch. Ignores the clock tolerance: within it, a token
 * is verified again instead of read from the cache.
 */
export function endOf(
  { exp, iat }: Readonly<Record<string, unknown>>,
  maxTokenAgeSeconds = Infinity,
): number {
  const seconds = (value: unknown): number => (typeof value === "number" ? value : Infinity);
  return Math.min(seconds(exp), seconds(iat) + maxTokenAgeSeconds) * 1000;
}
