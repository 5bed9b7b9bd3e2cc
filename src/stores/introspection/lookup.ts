/** Looks up tokens for one server, and remembers the results. */
import { readClock } from "../../core/runtime/clock.ts";
import { compact } from "../../core/runtime/compact.ts";
import { estimateBytes } from "../../core/runtime/estimate-bytes.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { isCurrent, type LookupResult, type Period, Remembered } from "../../core/runtime/remembered.ts";
import type { OpaqueStatus, OpaqueVerification } from "../../core/token/opaque-tokens.ts";
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
  /** Asks the endpoint. Rejects if the endpoint doesn't report whether the token is active. */
  readonly ask: (token: string, digest: string) => Promise<OpaqueVerification>;
}

/** A failure that concerns all tokens, and the period in which no token is looked up. */
interface Outage extends Period {
  readonly result: OpaqueVerification;
}

/** How long a failure is remembered. */
const COOLDOWN_MS = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** The tokens of one server, by their SHA-256. */
export class Lookup {
  readonly #rules: LookupRules;
  readonly #remembered: Remembered<OpaqueVerification>;
  #outage: Outage | undefined;
  /** Why the last request failed; `undefined` if it didn't fail. */
  #fault: unknown;

  constructor(rules: LookupRules) {
    this.#rules = rules;
    this.#remembered = new Remembered({ maxEntries: rules.maxEntries, maxBytes: MAX_BYTES });
  }

  /** Returns the result for a token, without a promise if it's remembered. */
  verify(token: string): Pending<OpaqueVerification> {
    const digest = digestOf(token);
    const now = this.#now();
    const result = this.#remembered.get(digest, now);
    if (result) return result;
    if (!this.#remembered.lookups.has(digest)) {
      if (this.#outage && isCurrent(this.#outage, now)) return this.#outage.result;
      // Without this limit, each invented token would cause a request to the issuer. The result isn't
      // remembered, because it isn't about the token.
      if (this.#remembered.lookups.size >= this.#rules.maxConcurrentRequests) return this.#tooMany();
    }
    return this.#remembered.lookUp(digest, now, () => this.#ask(token, digest, now));
  }

  async #ask(token: string, digest: string, askedAt: number): Promise<LookupResult<OpaqueVerification>> {
    const { ask, maxAgeSeconds, negativeSeconds } = this.#rules;
    let value: OpaqueVerification;
    try {
      value = await ask(token, digest);
    } catch (error) {
      return this.#fail(error);
    }
    this.#fault = undefined;
    if (value.kind !== "verified")
      return { value, until: this.#now() + negativeSeconds * 1000, isNegative: true };
    // The age counts from the request, because the token may be revoked before the response arrives.
    const until = Math.min(askedAt + maxAgeSeconds * 1000, endOf(value.claims));
    return { value, until, bytes: estimateBytes(value.claims) };
  }

  #fail(cause: unknown): LookupResult<OpaqueVerification> {
    const { concernsAll, retryAfterSeconds } = cause instanceof EndpointError ? cause : NO_FACTS;
    const value = { kind: "unavailable", cause, ...compact({ retryAfterSeconds }) } as const;
    const since = this.#now();
    const until = since + COOLDOWN_MS;
    // An error that only one token causes must not affect the tokens of others.
    if (concernsAll) {
      this.#outage = { result: value, since, until };
      this.#fault = cause;
    }
    return { value, until, isNegative: true };
  }

  status(): Omit<OpaqueStatus, "tokenKind"> {
    const cause = this.#fault;
    const state: OpaqueStatus["state"] = cause === undefined ? "ok" : "degraded";
    return compact({ state, underWay: this.#remembered.lookups.size, cause });
  }

  #tooMany(): OpaqueVerification {
    const { url, maxConcurrentRequests: limit } = this.#rules;
    const cause = new EndpointError(url, `wasn't asked: ${String(limit)} requests are already in flight.`);
    return { kind: "unavailable", cause, retryAfterSeconds: 1 };
  }

  readonly #now = (): number => readClock(this.#rules.now).getTime();
}

const NO_FACTS = { concernsAll: false, retryAfterSeconds: undefined };
