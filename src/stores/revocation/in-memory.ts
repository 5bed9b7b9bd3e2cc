/** A store of revocations for one process. */
import { checkOptions, clock, type OptionChecks, wholeNumber } from "../../core/options/check-options.ts";
import type { RevocationStore } from "../../core/token/revocation.ts";
import { RevokedSet } from "./revoked-set.ts";

/** The limits of a set of revocations. */
export interface RevocationLimits {
  /**
   * The longest time that a revocation is kept, in seconds. It must be at least as long as tokens are valid.
   * Default: `2_592_000`, which is 30 days.
   */
  readonly keepSeconds?: number;
  /**
   * The maximum number of entries, about 85 bytes each. `server.revoke` rejects if the set is full.
   * Default: `1_000_000`.
   */
  readonly maxEntries?: number;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

export const DEFAULT_LIMITS = { keepSeconds: 30 * 86_400, maxEntries: 1_000_000, now: Date.now } as const;

export const LIMITS: OptionChecks<RevocationLimits> = {
  keepSeconds: wholeNumber,
  maxEntries: wholeNumber,
  now: clock,
};

/**
 * Creates a store of revocations for one process, for the option `revocation` of a server. It forgets them
 * when the process ends, and other processes do not see them.
 *
 * @throws ConfigurationError that lists every mistake in the limits
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { inMemoryRevocation } from "scopegate/revocation";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   revocation: inMemoryRevocation(),
 * });
 * await server.revoke({ userId: "u1" }, { reason: "The account was closed." });
 * ```
 */
export function inMemoryRevocation(limits: RevocationLimits = {}): RevocationStore {
  checkOptions("inMemoryRevocation", limits, LIMITS);
  const { keepSeconds, maxEntries, now } = withDefaultLimits(limits);
  const revoked = new RevokedSet(maxEntries, now);
  return {
    keepSeconds,
    isRevoked: (principal) => revoked.isRevoked(principal),
    add: (entries) => {
      for (const entry of entries) revoked.add(entry);
      return Promise.resolve();
    },
    ready: () => Promise.resolve(),
    status: () => ({ state: "ok", entries: revoked.size }),
    close: () => undefined,
  };
}

export function withDefaultLimits(limits: RevocationLimits): Required<RevocationLimits> {
  const { keepSeconds, maxEntries, now } = DEFAULT_LIMITS;
  return {
    keepSeconds: limits.keepSeconds ?? keepSeconds,
    maxEntries: limits.maxEntries ?? maxEntries,
    now: limits.now ?? now,
  };
}
