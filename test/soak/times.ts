/** The times that everything in the soak is computed from, in milliseconds. */

/** What each resource server is given: short enough that all of it happens several times in two minutes. */
export const TIMES = { timeoutMs: 1_000, cooldownMs: 500, maxAgeMs: 2_000, staleMs: 4_000 };

/** For how long keys are used that can no longer be fetched. */
export const BOUND_MS = TIMES.maxAgeMs + TIMES.staleMs;

/** What one fetch takes and how late a loaded event loop is: the only time here that is not the library's own. */
export const SLACK_MS = 500;

/** Keys are fetched again at three quarters of their age, so that they are no older than this when an outage begins. */
export const REFRESH_MS = TIMES.maxAgeMs * 0.75 + SLACK_MS;

/** How long it may take to notice a published key, the beginning of an outage or the end of one: the source rests. */
export const NOTICE_MS = TIMES.cooldownMs + SLACK_MS;
