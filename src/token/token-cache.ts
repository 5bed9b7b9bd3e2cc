import { hash } from "node:crypto";
import { BoundedMap } from "../runtime/bounded-map.ts";
import { type KeyResolver, type VerificationKey } from "../keys/verification-key.ts";

/** How many accepted tokens are remembered, and for how long at most. */
export interface TokenCacheRules {
  /** How many. A full cache replaces a token that was not used recently. */
  readonly maxEntries: number;
  /** For how long at most, in seconds. */
  readonly maxAgeSeconds: number;
}

/** What a token was accepted by, and until when it says that it is good. */
export interface Acceptance {
  readonly keys: KeyResolver;
  readonly key: VerificationKey;
  /** In milliseconds; `Infinity` where the token names no end. */
  readonly endsAt: number;
}

interface Entry<Value> extends Acceptance {
  readonly value: Value;
  readonly since: number;
}

/**
 * What became of accepted tokens. An entry counts only while the token has not ended and its key is still in use; a clock
 * that was set back ends it. Keyed by the SHA-256 of the whole token: neither a token nor a part of it is kept, and a
 * signature that was exchanged is another token.
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
    const isYoung = now >= entry.since && now < entry.since + this.#maxAgeMs && now < entry.endsAt;
    if (isYoung && entry.keys.holds(entry.key)) return entry.value;
    this.#entries.delete(digest);
    return undefined;
  }

  set(digest: string, value: Value, { keys, key, endsAt }: Acceptance): void {
    this.#entries.set(digest, { value, keys, key, endsAt, since: this.#now() });
  }
}

/** The name of a token in the cache. */
export const digestOf = (token: string): string => hash("sha256", token, "binary");
