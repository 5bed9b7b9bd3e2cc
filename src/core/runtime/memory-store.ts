/** A store in the memory of one process. */
import { readClock } from "./clock.ts";
import type { OwnedOptions, Store } from "./store.ts";

/** How many ended entries a new one deletes at most, so that no call takes long after many ended at once. */
const MAX_DELETED = 1_000;

interface Entry {
  readonly key: string;
  readonly value: string;
  readonly end: number;
  readonly owner: string | undefined;
  readonly bucket: Bucket;
}

/** The entries whose ends, rounded up to a second, are the same. */
type Bucket = Set<Entry>;

const HINT = "Use memoryStore({ maxEntries }) with more, or a shared store.";

/** Only one owner has no room. */
export class ShareError extends Error {}

/** Creates a store. A full store rejects new keys, and an owner may have a tenth of it. */
export function createMemoryStore(maxEntries: number, now: () => number): Store {
  const maxOwned = Math.max(1, Math.floor(maxEntries / 10));
  // Created once, because a new error takes longer than a new entry.
  const full = new Error(`The store is full (${maxEntries} keys). ${HINT}`);
  const overShare = new ShareError(`One client has a tenth of the store (${maxOwned} keys). ${HINT}`);
  const entries = new Map<string, Entry>();
  const counts = new Map<string | undefined, number>();
  /** By the second in which they end, rounded up, so that a full store needs no search for ended entries. */
  const buckets = new Map<number, Bucket>();
  const endedBuckets = new Set<Bucket>();
  let endedSecond = 0;

  const find = (key: string, time: number): string | undefined => {
    const entry = entries.get(key);
    return entry && time < entry.end ? entry.value : undefined;
  };
  const count = (owner: string | undefined, change: number): void => {
    const owned = (counts.get(owner) ?? 0) + change;
    if (owned > 0) counts.set(owner, owned);
    else counts.delete(owner);
  };
  const add = (key: string, value: string, end: number, owner: string | undefined): void => {
    const second = Math.ceil(end / 1000);
    const bucket = buckets.get(second) ?? new Set();
    const entry = { key, value, end, owner, bucket };
    buckets.set(second, bucket.add(entry));
    entries.set(key, entry);
    count(owner, 1);
  };
  const remove = (entry: Entry): void => {
    entries.delete(entry.key);
    entry.bucket.delete(entry);
    count(entry.owner, -1);
  };
  const endBucket = (second: number): void => {
    const bucket = buckets.get(second);
    if (bucket) endedBuckets.add(bucket);
    buckets.delete(second);
  };
  const deleteEnded = (time: number): void => {
    const second = Math.floor(time / 1000);
    // After a pause, or if the clock was set, there may be far more seconds than buckets.
    if (second - endedSecond > buckets.size) {
      for (const passed of buckets.keys()) if (passed <= second) endBucket(passed);
    } else for (let passed = endedSecond + 1; passed <= second; passed += 1) endBucket(passed);
    endedSecond = second;
    let left = MAX_DELETED;
    for (const bucket of endedBuckets) {
      for (const entry of bucket) {
        if (left === 0) return;
        left -= 1;
        remove(entry);
      }
      endedBuckets.delete(bucket);
    }
  };
  const findLack = (owner: string | undefined): Error | undefined => {
    if (entries.size >= maxEntries) return full;
    return owner !== undefined && (counts.get(owner) ?? 0) >= maxOwned ? overShare : undefined;
  };
  return {
    get(keys) {
      const time = readClock(now).getTime();
      return Promise.resolve(keys.map((key) => find(key, time)));
    },
    set(key, value, { ttlMs = Infinity, ifAbsent = false, owner }: OwnedOptions = {}) {
      const time = readClock(now).getTime();
      if (ifAbsent && find(key, time) !== undefined) return Promise.resolve(false);
      deleteEnded(time);
      const earlier = entries.get(key);
      const lack = earlier ? undefined : findLack(owner);
      if (lack) return Promise.reject(lack);
      if (earlier) remove(earlier);
      if (ttlMs > 0) add(key, value, time + ttlMs, owner);
      return Promise.resolve(true);
    },
    delete(key) {
      const entry = entries.get(key);
      if (entry) remove(entry);
      return Promise.resolve();
    },
  };
}
