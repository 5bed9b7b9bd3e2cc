/** Looks up tokens for one server, and remembers the results. */
import { readClock } from "../../core/runtime/clock.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { type LookupResult, Remembered } from "../../core/runtime/remembered.ts";
import type { OpaqueStatus, OpaqueVerification } from "../../core/token/opaque-tokens.ts";
import { digestOf } from "../../core/token/token-cache.ts";
import { endOf } from "../../core/token/lifetime.ts";
import { ask, type AskRules } from "./ask.ts";
import { EndpointError } from "./endpoint.ts";
import type { IntrospectionCache } from "./options.ts";

interface LookupRules extends AskRules {
  readonly cache: Required<IntrospectionCache>;
  /** How many tokens may be looked up at the same time. */
  readonly maxConcurrentRequests: number;
}

const MAX_BYTES = 64 * 1024 * 1024;
/** How long a failure is remembered for its token, and the shortest time between a failure and a probe. */
const COOLDOWN_MS = 1_000;
/** The longest `Retry-After` that delays a probe: a mistake in it must not prolong an outage by an hour. */
const MAX_PAUSE_SECONDS = 60;
/** After so many failures in a row, no request waits for the endpoint: only probes ask it. */
const MAX_FAILURES = 5;
/** A token that the issuer doesn't know. Operators can recognize it in their logs. */
const PROBE = "scopegate-probe";

/** The tokens of one server, by their SHA-256. */
export class Lookup {
  readonly #rules: LookupRules;
  readonly #remembered: Remembered<OpaqueVerification>;
  /** Why a request failed; `undefined` if the endpoint has reported about a client's token since then. */
  #fault: unknown;
  /** The number of failures since the last response. */
  #failures = 0;
  /** The result for all tokens that aren't remembered, while only probes ask the endpoint. */
  #outage: OpaqueVerification | undefined;
  /** The last token that wasn't remembered, until the endpoint reports about a token. */
  #newestToken: string | undefined;
  /** Whether the next probe sends the token of a client. */
  #probesClient = true;
  /** When the next probe may be sent, by `performance.now()`. */
  #probeAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(rules: LookupRules) {
    this.#rules = rules;
    this.#remembered = new Remembered({ maxEntries: rules.cache.maxEntries, maxBytes: MAX_BYTES });
  }

  /** Returns the result for a token, without a promise if it's remembered. */
  verify(token: string): Pending<OpaqueVerification> {
    const digest = digestOf(token);
    const result = this.#remembered.get(digest, this.#now());
    if (result) return result;
    this.#newestToken = token;
    // After `close`, no probe would end the outage.
    if (this.#outage && !this.#isClosed) return this.#outage;
    const { lookups } = this.#remembered;
    // Without this limit, each invented token would cause a request to the issuer. The result isn't
    // remembered, because it isn't about the token.
    if (!lookups.has(digest) && lookups.size >= this.#rules.maxConcurrentRequests) return this.#tooMany();
    return this.#lookUp(token, digest);
  }

  #lookUp(token: string, digest: string): Promise<OpaqueVerification> {
    const now = this.#now();
    return this.#remembered.lookUp(digest, now, () => this.#ask(token, digest, now));
  }

  async #ask(token: string, digest: string, askedAt: number): Promise<LookupResult<OpaqueVerification>> {
    const { maxAgeSeconds, negativeSeconds } = this.#rules.cache;
    let value: OpaqueVerification;
    try {
      value = await ask(token, digest, this.#rules);
    } catch (error) {
      return this.#fail(error);
    }
    this.#succeed(token);
    if (value.kind !== "verified")
      return { value, until: this.#now() + negativeSeconds * 1000, isNegative: true };
    // The age counts from the request, because the token may be revoked before the response arrives.
    const until = Math.min(askedAt + maxAgeSeconds * 1000, endOf(value.claims));
    return { value, until, bytes: 4 * JSON.stringify(value.claims).length };
  }

  #succeed(token: string): void {
    clearTimeout(this.#timer);
    this.#outage = undefined;
    [this.#failures, this.#probeAt] = [0, 0];
    // An endpoint whose database is down may still know that an invented token is invalid.
    if (token === PROBE && this.#newestToken !== undefined) this.#probeAfter(COOLDOWN_MS);
    if (token !== PROBE) this.#fault = this.#newestToken = undefined;
  }

  #fail(cause: unknown): LookupResult<OpaqueVerification> {
    const { concernsAll = false, retryAfterSeconds } = cause instanceof EndpointError ? cause : {};
    const value = { kind: "unavailable", cause, ...compact({ retryAfterSeconds }) } as const;
    this.#fault = cause;
    this.#failures += 1;
    // A few failures that only their tokens cause must not affect the tokens of others.
    if (concernsAll || retryAfterSeconds !== undefined || this.#failures >= MAX_FAILURES)
      this.#outage = value;
    this.#probeAfter(Math.max(COOLDOWN_MS, Math.min(retryAfterSeconds ?? 0, MAX_PAUSE_SECONDS) * 1000));
    return { value, until: this.#now() + COOLDOWN_MS, isNegative: true };
  }

  #probeAfter(pauseMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    const now = performance.now();
    this.#probeAt = Math.max(this.#probeAt, now + pauseMs);
    this.#timer = setTimeout(() => void this.#probe(), this.#probeAt - now).unref();
  }

  /**
   * Asks the endpoint in the background. It sends the newest token of a client, whose result counts, and an
   * invented token in turn: a client whose token causes failures must not prolong an outage.
   */
  async #probe(): Promise<void> {
    const token = (this.#probesClient ? this.#newestToken : undefined) ?? PROBE;
    // If the endpoint works for invented tokens, one that fails isn't sent again: only it may cause failures.
    if (this.#failures === 0) this.#newestToken = undefined;
    this.#probesClient = token === PROBE;
    try {
      await this.#lookUp(token, digestOf(token));
    } catch {
      // The clock failed.
      this.#probeAfter(COOLDOWN_MS);
    }
  }

  status(): Omit<OpaqueStatus, "tokenKind"> {
    const cause = this.#fault;
    const state: OpaqueStatus["state"] = cause === undefined ? "ok" : "degraded";
    return compact({ state, underWay: this.#remembered.lookups.size, cause });
  }

  /** Ends the probes. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #tooMany(): OpaqueVerification {
    const { url, maxConcurrentRequests: limit } = this.#rules;
    const cause = new EndpointError(url, `wasn't asked: ${String(limit)} requests are already in flight.`);
    return { kind: "unavailable", cause, retryAfterSeconds: 1 };
  }

  readonly #now = (): number => readClock(this.#rules.now).getTime();
}
