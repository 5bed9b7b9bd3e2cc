/** Changes the value of a key that other processes change at the same time, so that no change gets lost. */
import type { Breaker } from "./breaker.ts";
import type { StoreOptions } from "./store.ts";

/** How long a process tries. */
const LIMIT_MS = 10_000;
/** A lock of a process that has ended delays others for this time. It's longer than a read and a write. */
const LOCK_MS = 8_000;
const PAUSE_MS = 20;

/** Returns what to write instead of a value; `undefined` if the value needs no change. */
export type Edit = (
  value: string | undefined,
) => { readonly value: string; readonly options: Pick<StoreOptions, "ttlMs"> } | undefined;

/**
 * Writes a value and reads it back, until it needs no change. Returns the stored value.
 *
 * @throws Error if the store fails, or other processes change the key all the time
 */
export async function changeKey(breaker: Breaker, key: string, edit: Edit): Promise<string | undefined> {
  const lock = `lock:${key}`;
  const endsAt = performance.now() + LIMIT_MS;
  while (performance.now() < endsAt) {
    const value = await breaker.read(key);
    const next = edit(value);
    if (!next) return value;
    if (value === undefined) await breaker.set(key, next.value, { ...next.options, ifAbsent: true });
    else if (await breaker.set(lock, "1", { ttlMs: LOCK_MS, ifAbsent: true })) {
      // Without the lock, two processes would overwrite each other's value after both have read this one.
      if ((await breaker.read(key)) === value) await breaker.set(key, next.value, next.options);
      await breaker.delete(lock);
    } else await new Promise((resolve) => void setTimeout(resolve, Math.random() * PAUSE_MS));
  }
  throw new Error("Other processes change the key all the time. Try again.");
}
