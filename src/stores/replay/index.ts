/** The entry point `scopegate/replay`: values that may be used once. */
import { checkOptions } from "../../core/options/check-options.ts";
import { clock } from "../../core/options/option-checks.ts";
import { breakerOf } from "../../core/runtime/breaker.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { timeOf } from "../../core/runtime/date.ts";
import { isText } from "../../core/runtime/json.ts";
import type { Store } from "../../core/runtime/store.ts";

/** Remembers values that may be used once. */
export interface Replays {
  /**
   * Remembers an id until a time. Returns `true` for the first call with this id, and `false` for every other
   * call until then, in all processes that share the store.
   * @throws TypeError for an empty id and for a date that isn't valid
   * @throws Error if the store doesn't respond within five seconds; the value must be refused then
   */
  remember(id: string, until: Date): Promise<boolean>;
}

/** The options of `createReplays`. */
export interface ReplaysOptions {
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/**
 * Remembers values that may be used once in a store: `memoryStore()` for one process, `redisStore(client)`
 * for several. If a store loses an id, or a primary fails before its replica has the id, it can be used
 * again.
 *
 * @throws ConfigurationError for wrong options
 * @example
 * ```ts
 * import { createReplays } from "scopegate/replay";
 * import { memoryStore } from "scopegate/store";
 *
 * const replays = createReplays(memoryStore());
 * const isFirst = await replays.remember("proof-1", new Date(Date.now() + 60_000));
 * console.log(isFirst);
 * ```
 */
export function createReplays(store: Store, options: ReplaysOptions = {}): Replays {
  checkOptions("createReplays", options, { now: clock });
  const { now = Date.now } = options;
  return {
    async remember(id, until) {
      if (!isText(id)) throw new TypeError("The id must be a non-empty string.");
      const ttlMs = timeOf("until", until) - readClock(now).getTime();
      return ttlMs > 0 && (await breakerOf(store).rememberOnce(id, ttlMs));
    },
  };
}
