/** A store in the memory of one process. */
import { checkOptions } from "../../core/options/check-options.ts";
import { clock, wholeNumber } from "../../core/options/option-checks.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { createMemoryStore } from "../../core/runtime/memory-store.ts";
import type { Store } from "../../core/runtime/store.ts";
import { markAsOneProcess } from "./one-process.ts";

/** The options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** The maximum number of keys. A full store rejects new ones, and never drops one. Default: `1_000_000`. */
  readonly maxEntries?: number;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/**
 * Creates a store for one process. Its content is lost when the process ends, and other processes don't see
 * it.
 *
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { memoryStore } from "scopegate/store";
 *
 * const store = memoryStore({ maxEntries: 10_000 });
 * await store.set("greeting", "hello", { ttlMs: 60_000 });
 * console.log(await store.get(["greeting", "other"])); // ["hello", undefined]
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions("memoryStore", options, { maxEntries: wholeNumber, now: clock });
  const { maxEntries = 1_000_000, now = Date.now } = options;
  const store = createMemoryStore(maxEntries, now);
  return markAsOneProcess({ ...store, now: () => Promise.resolve(readClock(now).getTime()) });
}
