import { orUndefined } from "../../core/errors.ts";
import type { KeyState } from "../../core/keys/key-event.ts";

/** When a remote set is fetched and how long it is used, in milliseconds. */
export interface RemoteTiming {
  /** How long one fetch may take, including discovery and redirects. Default: `5000`. */
  readonly timeoutMs: number;
  /**
   * How long no token can cause a request, after the source didn't have the key of a token. After a failure,
   * this takes one second, and each further failure doubles it, up to this time. Default: `30_000`.
   */
  readonly cooldownMs: number;
  /**
   * The maximum age of keys: a key that the issuer withdraws is rejected after this time at the latest, as
   * long as the source responds. Keys are refreshed in the background before that. Default: `600_000`, ten
   * minutes.
   */
  readonly maxAgeMs: number;
  /** How much longer the last good keys are used while their source fails. Default: `3_600_000`, one hour. */
  readonly staleMs: number;
}

/** `maxAgeMs` is `Infinity` for a source that shows changes at once: its keys are fresh until it fails. */
interface AgeRules extends Omit<RemoteTiming, "timeoutMs"> {
  readonly now: () => number;
}

/** Keys are refreshed after this fraction of `maxAgeMs`: the new keys arrive before the old ones expire. */
const REFRESH_AT = 0.75;
/** Timers are shortened by a random fraction, up to this, so that servers don't fetch simultaneously. */
const JITTER = 0.2;
/** The shortest delay of a timer, even if the options set shorter times. */
const MIN_DELAY_MS = 1_000;

/** The age of the keys of one source, and its failures. */
export class KeyAge {
  readonly #rules: AgeRules;
  /** When the keys were requested or, without a maximum age, when their source first failed. */
  #loadedAt: number | undefined;
  /** Why the last attempt failed; `undefined` if it succeeded. */
  error: Error | undefined;
  /** When the source last failed or didn't have a requested key. */
  #cooldownStart: number | undefined;
  /** Failures since the last success. Closing the server isn't a failure: it must not revive old keys. */
  #failures = 0;

  constructor(rules: AgeRules) {
    this.#rules = rules;
  }

  succeed(loadedAt: number): void {
    this.#loadedAt = loadedAt;
    this.error = undefined;
    this.#failures = 0;
  }

  fail(error: Error, isClosed: boolean): void {
    this.error = error;
    this.startCooldown();
    if (isClosed) return;
    if (this.#loadedAt !== undefined && this.#maxAgeMs === Infinity) this.#loadedAt = this.#cooldownStart;
    this.#failures += 1;
  }

  /** Returns until when the keys can be used while their source fails. */
  staleUntil(): Date | undefined {
    if (this.#failures === 0 || this.#loadedAt === undefined) return undefined;
    return new Date(this.#loadedAt + this.#maxAgeMs + this.#rules.staleMs);
  }

  state(): KeyState {
    if (this.#loadedAt === undefined) return this.error ? "unavailable" : "not loaded";
    const age = this.#since(this.#loadedAt);
    if (age < this.#maxAgeMs) return "fresh";
    // Compared this way, an age of NaN counts as too old.
    return this.#failures > 0 && age < this.#maxAgeMs + this.#rules.staleMs ? "stale" : "unavailable";
  }

  /** Returns whether loaded keys should be refreshed now. */
  isDue(): boolean {
    if (this.#loadedAt === undefined || (this.error && !this.isCooledDown())) return false;
    return this.#since(this.#loadedAt) >= this.#maxAgeMs * REFRESH_AT;
  }

  /** Returns the delay until the keys should be refreshed without a request; `undefined` for never. */
  delay(): number | undefined {
    const delay = this.error ? this.#cooldownMs() : this.#rules.maxAgeMs * REFRESH_AT;
    if (delay === Infinity) return undefined;
    return Math.max(delay * (1 - JITTER * Math.random()), MIN_DELAY_MS);
  }

  /** Returns whether a token may cause another attempt. */
  isCooledDown(): boolean {
    return this.#remainingCooldownMs() <= 0;
  }

  retryAfterSeconds(): number {
    return Math.max(Math.ceil(this.#remainingCooldownMs() / 1000), 1);
  }

  startCooldown(): void {
    this.#cooldownStart = orUndefined(this.#rules.now) ?? this.#cooldownStart;
  }

  /** Keys without a maximum age are too old as soon as their source fails. */
  get #maxAgeMs(): number {
    const { maxAgeMs } = this.#rules;
    return maxAgeMs === Infinity && this.#failures > 0 ? 0 : maxAgeMs;
  }

  /** Short at first, and doubled with each failure, so that keys are loaded soon after a short outage. */
  #cooldownMs(): number {
    const { cooldownMs } = this.#rules;
    return this.#failures > 0 ? Math.min(MIN_DELAY_MS * 2 ** (this.#failures - 1), cooldownMs) : cooldownMs;
  }

  #remainingCooldownMs(): number {
    return this.#cooldownStart === undefined ? 0 : this.#cooldownMs() - this.#since(this.#cooldownStart);
  }

  /** The absolute difference: setting back the clock must not keep withdrawn keys valid for longer. */
  #since(time: number): number {
    return Math.abs(this.#rules.now() - time);
  }
}
