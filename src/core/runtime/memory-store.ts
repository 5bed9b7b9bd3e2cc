/** A store in the memory of one process. */
import { readClock } from "./clock.ts";
import type { OwnedOptions, Store } from "./store.ts";

/** How many ended entries, and how many seconds, one call goes through at most, so that none takes long. */
const MAX_STEPS = 1_000;

interface Entry {
  readonly key: string;
  readonly value: string;
  readonly end: number;
  readonly owner: string | undefined;
}

const HINT = "Use memoryStore({ maxEntries }) with more, or a shared store.";

/** One owner has used its share; the store itself works. */
export class ShareError extends Error {}

const endSecondOf = ({ end }: Entry): number => Math.ceil(end / 1000);

/** Creates a store. A full store rejects new keys, and an owner may have a tenth of it. */
export function createMemoryStore(maxEntries: number, now: () => number): Store {
  const maxOwned = Math.max(1, Math.floor(maxEntries / 10));
  // Created once, because a new error takes longer than a new entry.
  const full = new Error(`The store is full (${maxEntries} keys). ${HINT}`);
  const overShare = new ShareError(`One client has a tenth of the store (${maxOwned} keys). ${HINT}`);
  const entries = new Map<string, Entry>();
  const counts = new Map<string | undefined, number>();
  /** By the second in which they end, rounded up, so that a full store needs no search for ended entries. */
  const buckets = new Map<number, Set<Entry>>();
  let endedSecond = 0;

  const find = (key: string, time: number): string | undefined => {
    const entry = entries.get(key);
    return entry && time < entry.end ? entry.value : undefined;
  };
  const changeCount = (owner: string | undefined, change: number): void => {
    const owned = (counts.get(owner) ?? 0) + change;
    if (owned > 0) counts.set(owner, owned);
    else counts.delete(owner);
  };
  const add = (entry: Entry): void => {
    const second = endSecondOf(entry);
    buckets.set(second, (buckets.get(second) ?? new Set()).add(entry));
    entries.set(entry.key, entry);
    changeCount(entry.owner, 1);
  };
  const remove = (entry: Entry): void => {
    const second = endSecondOf(entry);
    const bucket = buckets.get(second);
    bucket?.delete(entry);
    // Otherwise, a key that is often set and deleted would fill the memory with empty buckets.
    if (bucket?.size === 0) buckets.delete(second);
    entries.delete(entry.key);
    changeCount(entry.owner, -1);
  };
  const deleteEnded = (time: number): void => {
    const second = Math.floor(time / 1000);
    const passed = second - endedSecond;
    // After a pause, or if the clock was set, there may be far more seconds than buckets.
    const candidates =
      passed > MAX_STEPS
        ? buckets.keys()
        : Array.from({ length: passed }, (_, index) => endedSecond + 1 + index);
    let left = MAX_STEPS;
    for (const candidate of candidates)
      if (candidate <= second)
        for (const entry of buckets.get(candidate) ?? []) {
          if (left === 0) return;
          left -= 1;
          remove(entry);
        }
    endedSecond = second;
  };
  return {
    get(keys) {
      const time = readClock(now).getTime();
      return Promise.resolve(keys.map((key) => find(key, time)));
    },
    set(key, value, { ttlMs = Infinity, ifAbsent = false, owner }: OwnedOptions = {}) {
      const time = readClock(now).getTime();
      if (Number.isNaN(ttlMs)) throw new TypeError("`ttlMs` must be a number of milliseconds.");
      if (ifAbsent && find(key, time) !== undefined) return Promise.resolve(false);
      deleteEnded(time);
      const earlier = entries.get(key);
      const owned = owner === undefined ? 0 : (counts.get(owner) ?? 0);
      if (earlier) remove(earlier);
      else if (entries.size >= maxEntries) return Promise.reject(full);
      else if (owned >= maxOwned) return Promise.reject(overShare);
      if (ttlMs > 0) add({ key, value, end: time + ttlMs, owner });
      return Promise.resolve(true);
    },
    delete(key) {
      const entry = entries.get(key);
      if (entry) remove(entry);
      return Promise.resolve();
    },
  };
}
