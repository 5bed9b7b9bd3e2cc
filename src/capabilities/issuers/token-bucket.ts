/** Limits how often something happens: at most `capacity` times at once, and `perSecond` times after that. */
export class TokenBucket {
  readonly #capacity: number;
  readonly #perSecond: number;
  #tokens: number;
  #filledAt: number | undefined;

  constructor(capacity: number, perSecond: number) {
    this.#capacity = capacity;
    this.#perSecond = perSecond;
    this.#tokens = capacity;
  }

  /** Takes a token; returns `false` if there is none. `now` is in milliseconds, and may go back. */
  take(now: number): boolean {
    const elapsedMs = Math.max(0, now - (this.#filledAt ?? now));
    this.#filledAt = now;
    this.#tokens = Math.min(this.#capacity, this.#tokens + (elapsedMs / 1000) * this.#perSecond);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
