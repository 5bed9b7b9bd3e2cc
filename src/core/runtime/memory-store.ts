/** The memory of one process as a store. */
import { readClock } from "./clock.ts";
import type { Store } from "./store.ts";

/** How many keys are checked with each new one, to delete those that have expired. */
const SWEPT = 2;

/** Creates a store. If it is full, it rejects new keys. */
export function createMemoryStore(maxEntries: number, now: () => number): Store {
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
