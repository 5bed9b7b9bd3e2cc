/** Asks about tokens for one server, and remembers the answers. */
import { BoundedMap } from "../../core/runtime/bounded-map.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { estimateBytes } from "../../core/runtime/estimate-bytes.ts";
import { type Pending } from "../../core/runtime/pending.ts";
import { type OpaqueVerification } from "../../core/token/opaque-tokens.ts";
import { digestOf } from "../../core/token/token-cache.ts";
import { endOf } from "../../core/token/verifier.ts";
import { EndpointError } from "./endpoint.ts";

interface LookupRules {
  readonly maxEntries: number;
  readonly maxAgeSeconds: number;
  readonly negativeSeconds: number;
  /** How many tokens may be looked up at the same time. */
  readonly maxConcurrentRequests: number;
  /** The endpoint, for messages. */
  readonly url: string;
  readonly now: () => number;
  /** Asks the endpoint. Rejects if the endpoint does not say whether the token is active. */
  readonly ask: (token: string, digest: string) => Promise<OpaqueVerification>;
}

/** A result, and the time in which it may be used, in milliseconds since the epoch. */
interface Known {
  readonly found: OpaqueVerification;
  readonly since: number;
  readonly until: number;
}

const COOLDOWN_MS = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;

const isCurrent = ({ since, until }: Known, now: number): boolean => now >= since && now < until;

/** The tokens of one server, by their SHA-256. Asks once if one token arrives several times at once. */
export class Lookup {
  readonly #rules: LookupRules;
  readonly #active: BoundedMap<string, Known>;
  /** Separate from the active ones, because invented tokens must not replace them. */
  readonly #others: BoundedMap<string, Known>;
  readonly #pending = new Map<string, Promise<OpaqueVerification>>();
  /** The last failure that affects all tokens. */
  #outage: Known | undefined;

  constructor(rules: LookupRules) {
    this.#rules = rules;
    this.#active = new BoundedMap(rules.maxEntries, MAX_BYTES);
    this.#others = new BoundedMap(rules.maxEntries);
  }

  /** Returns the result for a token, without a promise if it is remembered. */
  verify(token: string): Pending<OpaqueVerification> {
    const digest = digestOf(token);
    const now = this.#now();
    const known = this.#active.get(digest) ?? this.#others.get(digest);
    if (known && isCurrent(known, now)) return known.found;
    const pending = this.#pending.get(digest);
    if (pending) return pending;
    if (this.#outage && isCurrent(this.#outage, now)) return this.#outage.found;
    // Without this limit, invented tokens cause as many requests to the issuer as clients send here.
    // The result is not remembered, because it says nothing about the token.
    if (this.#pending.size >= this.#rules.maxConcurrentRequests) return this.#tooMany();
    const asked = this.#ask(token, digest, now);
    this.#pending.set(digest, asked);
    return asked;
  }

  async #ask(token: string, digest: string, askedAt: number): Promise<OpaqueVerification> {
    const { ask, maxAgeSeconds, negativeSeconds } = this.#rules;
    try {
      const found = await ask(token, digest);
      // The age counts from the request: the token may be revoked before the answer arrives.
      if (found.kind === "verified")
        this.#remember(digest, found, Math.min(askedAt + maxAgeSeconds * 1000, endOf(found.claims)));
      else this.#remember(digest, found, this.#now() + negativeSeconds * 1000);
      return found;
    } catch (cause) {
      const { concernsAll, retryAfterSeconds } = cause instanceof EndpointError ? cause : NO_FACTS;
      const found = { kind: "unavailable", cause, ...(retryAfterSeconds && { retryAfterSeconds }) } as const;
      const known = this.#remember(digest, found, this.#now() + COOLDOWN_MS);
      // An error that only one token causes must not affect the tokens of others.
      if (concernsAll) this.#outage = known;
      return found;
    } finally {
      this.#pending.delete(digest);
    }
  }

  #tooMany(): OpaqueVerification {
    const { url, maxConcurrentRequests: limit } = this.#rules;
    const cause = new EndpointError(url, `is not asked: ${String(limit)} requests are in flight already.`);
    return { kind: "unavailable", cause, retryAfterSeconds: 1 };
  }

  #remember(digest: string, found: OpaqueVerification, until: number): Known {
    const known = { found, since: this.#now(), until };
    for (const map of [this.#active, this.#others]) {
      map.delete(digest);
      map.deleteOldest((old) => old.until <= known.since, 2);
    }
    if (found.kind === "verified")
      this.#active.set(digest, known, { exclusive: estimateBytes(found.claims) });
    else this.#others.set(digest, known);
    return known;
  }

  readonly #now = (): number => readClock(this.#rules.now).getTime();
}

const NO_FACTS = { concernsAll: false, retryAfterSeconds: undefined };
