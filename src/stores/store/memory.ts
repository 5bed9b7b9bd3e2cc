/** A store in the memory of one process. */
import { checkOptions, clock, wholeNumber } from "../../core/options/check-options.ts";
import { readClock } from "../../core/runtime/clock.ts";
import type { Store } from "../../core/runtime/store.ts";

/** The options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** The maximum number of keys. A full store rejects new ones, and never drops one. Default: `1_000_000`. */
  readonly maxEntries?: number;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** How many keys are checked with each new one, to delete those that have expired. */
const SWEPT = 2;

/**
 * Creates a store for one process. It forgets everything when the process ends, and other processes do not
 * see it.
 *
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { memoryStore } from "scopegate/store";
 *
 * const store = memoryStore({ maxEntries: 10_000 });
 * await store.set("greeting", "hello", { until: new Date(Date.now() + 60_000) });
 * console.log(await store.get(["greeting", "other"])); // ["hello", undefined]
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions("memoryStore", options, { maxEntries: wholeNumber, now: clock });
  const { maxEntries = 1_000_000, now = Date.now } = options;
  /** The oldest first. */
  const entries = new Map<string, { readonly value: string; readonly end: number }>();
  const find = (key: string, time: number): string | undefined => {
    const entry = entries.get(key);
    return entry && time < entry.end ? entry.value : undefined;
  };
  /** An entry that has not expired moves to the end, so that all are checked in turn. */
  const sweep = (time: number, count: number): void => {
    let left = count;
    for (const [key, entry] of entries) {
      if (left === 0) return;
      left -= 1;
      entries.delete(key);
      if (time < entry.end) entries.set(key, entry);
    }
  };
  return {
    get(keys) {
      const time = readClock(now).getTime();
      return Promise.resolve(keys.map((key) => find(key, time)));
    },
    set(key, value, { until, ifAbsent = false } = {}) {
      const time = readClock(now).getTime();
      if (ifAbsent && find(key, time) !== undefined) return Promise.resolve(false);
      if (!entries.has(key) && entries.size >= maxEntries) sweep(time, entries.size);
      if (!entries.has(key) && entries.size >= maxEntries)
        return Promise.reject(new Error(`The store is full (${maxEntries} keys). Raise \`maxEntries\`.`));
      entries.set(key, { value, end: until?.getTime() ?? Infinity });
      sweep(time, SWEPT);
      return Promise.resolve(true);
    },
    delete(key) {
      entries.delete(key);
      return Promise.resolve();
    },
  };
}
