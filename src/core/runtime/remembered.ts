/** Remembers the results of slow lookups, with at most one lookup per key at a time. */
import { BoundedMap } from "./bounded-map.ts";

/** A period in which something may be used, in milliseconds since the epoch. */
export interface Period {
  readonly since: number;
  readonly until: number;
}

/** Returns whether a period includes a time. An earlier time means that the clock was set back. */
export const isCurrent = ({ since, until }: Period, now: number): boolean => now >= since && now < until;

export interface LookupResult<Value> {
  readonly value: Value;
  /** Until when the result may be used, in milliseconds since the epoch. */
  readonly until: number;
  /** Whether the key doesn't exist. Default: `false`. */
  readonly isNegative?: boolean;
  /** The estimated memory of the value. Default: `0`. */
  readonly bytes?: number;
}

interface RememberedOptions {
  /** The maximum number of results, and separately of negative ones. Unused keys are looked up again. */
  readonly maxEntries: number;
  /** The maximum memory of all results, in bytes. Default: no limit. */
  readonly maxBytes?: number;
  /** How long after its end `last` still returns a result, in milliseconds. Default: `0`. */
  readonly keepMs?: number;
}

type Entry<Value> = Period & { readonly value: Value };

export class Remembered<Value> {
  readonly #results: BoundedMap<string, Entry<Value>>;
  /** Separate, because clients can invent any number of keys, which must not replace real ones. */
  readonly #negativeResults: BoundedMap<string, Entry<Value>>;
  readonly #lookups = new Map<string, Promise<Value>>();
  readonly #keepMs: number;

  constructor({ maxEntries, maxBytes, keepMs = 0 }: RememberedOptions) {
    this.#results = new BoundedMap(maxEntries, maxBytes);
    this.#negativeResults = new BoundedMap(maxEntries);
    this.#keepMs = keepMs;
  }

  /** The keys that are being looked up. */
  get lookups(): Pick<ReadonlyMap<string, unknown>, "has" | "size"> {
    return this.#lookups;
  }

  /** Returns a result that may be used now. */
  get(key: string, now: number): Value | undefined {
    const entry = this.#results.get(key) ?? this.#negativeResults.get(key);
    return entry && isCurrent(entry, now) ? entry.value : undefined;
  }

  /** Returns the last result that isn't negative, even if it has ended. */
  last(key: string): Value | undefined {
    return this.#results.get(key)?.value;
  }

  /**
   * Looks up a key, and remembers the result from `now` on. Requests for the same key share the lookup. If it
   * fails, nothing is remembered.
   */
  lookUp(key: string, now: number, find: () => Promise<LookupResult<Value>>): Promise<Value> {
    const current = this.#lookups.get(key);
    if (current) return current;
    const started = this.#find(key, now, find).finally(() => this.#lookups.delete(key));
    this.#lookups.set(key, started);
    return started;
  }

  async #find(key: string, since: number, find: () => Promise<LookupResult<Value>>): Promise<Value> {
    const { value, until, isNegative = false, bytes = 0 } = await find();
    for (const results of [this.#results, this.#negativeResults]) {
      results.delete(key);
      // Two for each new result, so that the number of old results decreases.
      results.deleteOldest((old) => old.until + this.#keepMs <= since, 2);
    }
    const results = isNegative ? this.#negativeResults : this.#results;
    results.set(key, { value, since, until }, bytes);
    return value;
  }
}
