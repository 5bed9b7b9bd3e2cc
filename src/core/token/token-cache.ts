import { hash } from "node:crypto";
import { BoundedMap } from "../runtime/bounded-map.ts";
import { CACHE_CHANNEL, publish } from "../runtime/channels.ts";
import { compact } from "../runtime/compact.ts";
import type { KeyResolver, VerificationKey } from "../keys/verification-key.ts";
import { copyOf } from "./jwt-parts.ts";
import type { Principal } from "./principal.ts";

/** The limits of the token cache. */
export interface TokenCacheRules {
  /** The maximum number of tokens. A full cache replaces a token that wasn't used recently. */
  readonly maxEntries: number;
  /** The maximum age of an entry, in seconds. */
  readonly maxAgeSeconds: number;
  /**
   * The maximum memory of all entries, in bytes, by an estimate: 800, and 4 for each character of a token.
   * Usual tokens need less. Claims that consist of thousands of tiny objects need up to seven times as much.
   */
  readonly maxBytes: number;
}

/** The key that accepted a token, and when the token expires. */
export interface Acceptance {
  readonly keys: KeyResolver;
  readonly key: VerificationKey;
  /** In milliseconds; `Infinity` for a token that doesn't expire. */
  readonly endsAt: number;
}

/** What the channel `scopegate:cache` of `node:diagnostics_channel` publishes. */
export interface CacheEvent {
  /**
   * `hit`: a token was remembered, or another request was verifying it. `miss`: a token was verified, whether
   * it was accepted or not. `evicted`: a full cache replaced a token.
   */
  readonly type: "hit" | "miss" | "evicted";
  /** The number of remembered tokens. */
  readonly entries: number;
  /** The estimated memory of all entries, in bytes. */
  readonly bytes: number;
  /** For a `miss`: how long the verification took, in milliseconds, including the wait for keys. */
  readonly durationMs?: number;
}

/** How often old entries are deleted in `maxAgeSeconds`, and how many at once: no request waits for long. */
const SWEEPS = 8;
const MAX_SWEPT = 1_000;

/** For these tokens, the whole token is stored, because comparing it is faster than hashing it. */
const MAX_NEWEST = 100;
const MAX_NEWEST_LENGTH = 2_000;

/** The estimated memory of an entry, and what each character of its token adds, in bytes. */
const ENTRY_BYTES = 800;
const CHARACTER_BYTES = 4;

type Newest = Readonly<{ token: string; digest: string; since: number }>;

interface Entry extends Acceptance {
  readonly kind: "identified";
  readonly principal: Principal;
  readonly since: number;
}

/**
 * Caches the principals of accepted tokens. An entry is valid until it's older than `maxAgeSeconds`, the
 * token expires, its verification key is withdrawn, or the clock is set back. Entries are stored by the
 * SHA-256 of the whole token, signature included.
 */
export class TokenCache {
  readonly #entries: BoundedMap<string, Entry>;
  /** The digests of accepted tokens, by the last characters of the token. */
  readonly #newest = new BoundedMap<string, Newest>(MAX_NEWEST);
  readonly #maxAgeMs: number;
  readonly #now: () => number;
  #nextSweep = 0;

  constructor({ maxEntries, maxAgeSeconds, maxBytes }: TokenCacheRules, now: () => number) {
    this.#entries = new BoundedMap(maxEntries, maxBytes);
    this.#maxAgeMs = maxAgeSeconds * 1000;
    this.#now = now;
  }

  get entries(): number {
    return this.#entries.size;
  }

  /** Returns the estimated memory of all entries, in bytes. */
  get bytes(): number {
    return this.#entries.weight;
  }

  /** Returns the cache key of a token. */
  digestOf(token: string): string {
    const newest = this.#newest.get(endOf(token));
    return newest?.token === token ? newest.digest : digestOf(token);
  }

  get(digest: string): Readonly<Pick<Entry, "kind" | "principal">> | undefined {
    const entry = this.#entries.get(digest);
    if (!entry) return undefined;
    const now = this.#now();
    this.#sweep(now);
    const isFresh = now >= entry.since && now < entry.since + this.#maxAgeMs && now < entry.endsAt;
    if (isFresh && entry.keys.holds(entry.key)) return entry;
    this.#entries.delete(digest);
    return undefined;
  }

  set(digest: string, token: string, principal: Principal, { keys, key, endsAt }: Acceptance): void {
    const now = this.#now();
    this.#sweep(now);
    const entry: Entry = { kind: "identified", principal, keys, key, endsAt, since: now };
    const replaced = this.#entries.set(digest, entry, ENTRY_BYTES + CHARACTER_BYTES * token.length);
    if (token.length <= MAX_NEWEST_LENGTH)
      this.#newest.set(endOf(token), { token: copyOf(token), digest, since: now });
    for (let count = 0; count < replaced; count += 1) this.publish("evicted");
  }

  /** Publishes an event. `since` is when a verification began, by `performance.now()`. */
  publish(type: CacheEvent["type"], since?: number): void {
    if (!CACHE_CHANNEL.hasSubscribers) return;
    const { entries, bytes } = this;
    const durationMs = since === undefined ? undefined : performance.now() - since;
    publish(CACHE_CHANNEL, compact({ type, entries, bytes, durationMs }) satisfies CacheEvent);
  }

  /** Deletes old entries. The map orders entries by age: a token that is set again moves to the end. */
  #sweep(now: number): void {
    if (now < this.#nextSweep) return;
    const isOld = ({ since }: { readonly since: number }) => now >= since + this.#maxAgeMs;
    this.#newest.deleteOldest(isOld, MAX_SWEPT);
    const swept = this.#entries.deleteOldest(isOld, MAX_SWEPT);
    if (swept < MAX_SWEPT) this.#nextSweep = now + this.#maxAgeMs / SWEEPS;
  }
}

/** In V8, a slice of less than 13 characters doesn't keep the whole string in memory. */
const endOf = (token: string): string => token.slice(-12);

/** Returns the SHA-256 of a token. */
export const digestOf = (token: string): string => hash("sha256", token, "binary");
