import { hash } from "node:crypto";
import { BoundedMap } from "../runtime/bounded-map.ts";
import { type KeyResolver, type VerificationKey } from "../keys/verification-key.ts";

/** The limits of the token cache. */
export interface TokenCacheRules {
  /** The maximum number of tokens. A full cache replaces a token that was not used recently. */
  readonly maxEntries: number;
  /** The maximum age of an entry, in seconds. */
  readonly maxAgeSeconds: number;
  /** The maximum memory of all entries, in bytes. It is estimated, and rather too high than too low. */
  readonly maxBytes: number;
}

/** The key that accepted a token, and when the token expires. */
export interface Acceptance {
  readonly keys: KeyResolver;
  readonly key: VerificationKey;
  /** In milliseconds; `Infinity` for a token that does not expire. */
  readonly endsAt: number;
}

/**
 * How often in `maxAgeSeconds` old entries are deleted, and how many at once at most, so that no request
 * waits for long.
 */
const SWEEPS = 8;
const MAX_SWEPT = 1_000;

interface Entry<Value> extends Acceptance {
  readonly value: Value;
  readonly since: number;
}

/**
 * Caches accepted tokens. An entry is valid until the token expires, its key is withdrawn or the clock is set
 * back. Its key is the SHA-256 of the whole token, signature included: no part of a token is in memory.
 */
export class TokenCache<Value> {
  readonly #entries: BoundedMap<string, Entry<Value>>;
  readonly #maxAgeMs: number;
  readonly #now: () => number;
  readonly #sizeOf: (value: Value) => number;
  #nextSweep = 0;

  constructor(
    { maxEntries, maxAgeSeconds, maxBytes }: TokenCacheRules,
    now: () => number,
    sizeOf: (value: Value) => number,
  ) {
    this.#entries = new BoundedMap(maxEntries, maxBytes);
    this.#maxAgeMs = maxAgeSeconds * 1000;
    this.#now = now;
    this.#sizeOf = sizeOf;
  }

  /** The number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** The estimated memory of all entries, in bytes. */
  get bytes(): number {
    return this.#entries.weight;
  }

  get(digest: string): Value | undefined {
    const entry = this.#entries.get(digest);
    if (!entry) return undefined;
    const now = this.#now();
    this.#sweep(now);
    const isFresh = now >= entry.since && now < entry.since + this.#maxAgeMs && now < entry.endsAt;
    if (isFresh && entry.keys.holds(entry.key)) return entry.value;
    this.#entries.delete(digest);
    return undefined;
  }

  set(digest: string, value: Value, { keys, key, endsAt }: Acceptance): void {
    const now = this.#now();
    this.#sweep(now);
    const entry = { value, keys, key, endsAt, since: now };
    this.#entries.set(digest, entry, this.#sizeOf(value));
  }

  /**
   * Deletes entries past their age. The map lists entries by age, because a token that is set again moves to
   * the end.
   */
  #sweep(now: number): void {
    if (now < this.#nextSweep) return;
    const swept = this.#entries.deleteOldest(({ since }) => now >= since + this.#maxAgeMs, MAX_SWEPT);
    if (swept < MAX_SWEPT) this.#nextSweep = now + this.#maxAgeMs / SWEEPS;
  }
}

/** Returns the cache key of a token. */
export const digestOf = (token: string): string => hash("sha256", token, "binary");
