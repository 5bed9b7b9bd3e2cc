/** The times that all other times of the soak test depend on, in milliseconds. */

/** The options of each resource server, short enough that everything happens several times in two minutes. */
export const TIMES = { timeoutMs: 1_000, cooldownMs: 500, maxAgeMs: 2_000, staleMs: 4_000 };

/** How long a service uses keys that it can no longer fetch. */
export const BOUND_MS = TIMES.maxAgeMs + TIMES.staleMs;

/**
 * An allowance for one fetch and the delay of a busy event loop. The only time here that does not come from
 * options.
 */
export const SLACK_MS = 500;

/**
 * Keys are refreshed at three quarters of their maximum age, so they are at most this old when an outage
 * starts.
 */
export const REFRESH_MS = TIMES.maxAgeMs * 0.75 + SLACK_MS;

/**
 * How long a service may need to notice a published key or the start or end of an outage, because of the
 * cooldown.
 */
export const NOTICE_MS = TIMES.cooldownMs + SLACK_MS;
