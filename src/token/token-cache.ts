import { hash } from "node:crypto";
import { BoundedMap } from "../runtime/bounded-map.ts";
import { type KeyResolver, type VerificationKey } from "../keys/verification-key.ts";

/** The limits of the token cache. */
export interface TokenCacheRules {
  /** The maximum number of tokens. A full cache replaces a token that was not used recently. */
  readonly maxEntries: number;
  /** The maximum age of an entry, in seconds. */
  readonly maxAgeSeconds: number;
}

/** The key that accepted a token, and when the token expires. */
export interface Acceptance {
  readonly keys: KeyResolver;
  readonly key: VerificationKey;
  /** In milliseconds; `Infinity` for a token that does not expire. */
  readonly endsAt: number;
}

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

  constructor({ maxEntries, maxAgeSeconds }: TokenCacheRules, now: () => number) {
    this.#entries = new BoundedMap(maxEntries);
    this.#maxAgeMs = maxAgeSeconds * 1000;
    this.#now = now;
  }

  get(digest: string): Value | undefined {
    const entry = this.#entries.get(digest);
    if (!entry) return undefined;
    const now = this.#now();
    const isFresh = now >= entry.since && now < entry.since + this.#maxAgeMs && now < entry.endsAt;
    if (isFresh && entry.keys.holds(entry.key)) return entry.value;
    this.#entries.delete(digest);
    return undefined;
  }

  set(digest: string, value: Value, { keys, key, endsAt }: Acceptance): void {
    this.#entries.set(digest, { value, keys, key, endsAt, since: this.#now() });
  }
}

/** Returns the cache key of a token. */
export const digestOf = (token: string): string => hash("sha256", token, "binary");
