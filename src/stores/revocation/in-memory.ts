/** A store of revocations for one process. */
import { type RevocationStore } from "../../core/token/revocation.ts";
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

/**
 * Creates a store of revocations for one process, for the option `revocation` of a server. It forgets them
 * when the process ends, and other processes do not see them.
 *
 * @throws TypeError for a limit that is not a positive whole number
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
  const { keepSeconds, maxEntries, now } = checkLimits(limits);
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

export function checkLimits(limits: RevocationLimits): Required<RevocationLimits> {
  const all = { ...DEFAULT_LIMITS, ...limits };
  for (const name of ["keepSeconds", "maxEntries"] as const)
    if (!Number.isSafeInteger(all[name]) || all[name] <= 0)
      throw new TypeError(`\`${name}\` must be a whole number, 1 or more.`);
  return all;
}
