/** A store in the memory of one process. */
import { readClock } from "./clock.ts";
import type { Store } from "./store.ts";

/** How many entries are checked with each new key, to delete those that have expired. */
const SWEPT = 2;

interface Entry {
  readonly value: string;
  readonly end: number;
}

/** Creates a store. A full store rejects new keys. */
export function createMemoryStore(maxEntries: number, now: () => number): Store {
  const entries = new Map<string, Entry>();
  const find = (key: string, time: number): string | undefined => {
    const entry = entries.get(key);
    return entry && time < entry.end ? entry.value : undefined;
  };
  /**
   * Where the next check continues. A search from the start would pass over the slots of all deleted entries,
   * which V8 keeps until it copies the map.
   */
  let cursor = entries.entries();
  /** No entry expires earlier than this. */
  let soonestEnd = Infinity;
  /** Checks the next entries in turn, until one has expired. Returns whether it has deleted one. */
  const sweep = (time: number, count: number): boolean => {
    for (let left = count; left > 0; left -= 1) {
      let next = cursor.next();
      if (next.done) {
        cursor = entries.entries();
        next = cursor.next();
      }
      if (next.done) return false;
      const [key, { end }] = next.value;
      if (time < end) continue;
      entries.delete(key);
      return true;
    }
    return false;
  };
  /** Deletes an expired entry, if there is one. For a full store, most calls return at once. */
  const makeRoom = (time: number): void => {
    if (time < soonestEnd || sweep(time, entries.size)) return;
    soonestEnd = Infinity;
    for (const { end } of entries.values()) soonestEnd = Math.min(soonestEnd, end);
  };
  return {
    get(keys) {
      const time = readClock(now).getTime();
      return Promise.resolve(keys.map((key) => find(key, time)));
    },
    set(key, value, { until, ifAbsent = false } = {}) {
      const time = readClock(now).getTime();
      if (ifAbsent && find(key, time) !== undefined) return Promise.resolve(false);
      if (!entries.has(key) && entries.size >= maxEntries) makeRoom(time);
      if (!entries.has(key) && entries.size >= maxEntries)
        return Promise.reject(
          new Error(
            `The store is full (${maxEntries} keys). Use memoryStore({ maxEntries }) with more, or a shared store.`,
          ),
        );
      const end = until?.getTime() ?? Infinity;
      soonestEnd = Math.min(soonestEnd, end);
      entries.set(key, { value, end });
      for (let checked = 0; checked < SWEPT; checked += 1) sweep(time, 1);
      return Promise.resolve(true);
    },
    delete(key) {
      entries.delete(key);
      return Promise.resolve();
    },
  };
}
