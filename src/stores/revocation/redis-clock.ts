/** Reads the clock of Redis, and compares it with the clock of this process. */
import type { RevocationEvent } from "./events.ts";
import type { RevocationStream } from "./stream.ts";

/** How often the clock of Redis is read, and the smallest difference that is reported. */
const READ_EVERY_MS = 60_000;
const SKEW_SECONDS = 5;

export class RedisClock {
  /** The offset from `performance.now()`, which cannot be set. */
  #offsetMs = 0;
  #readAt = -Infinity;

  /** Returns the time of Redis, in milliseconds since the epoch; 0 before it was read. */
  now(): number {
    return this.#readAt < 0 ? 0 : performance.now() + this.#offsetMs;
  }

  /** Reads the clock from time to time, and reports a difference. */
  async compare(
    stream: RevocationStream,
    now: () => number,
    report: (event: RevocationEvent) => void,
  ): Promise<void> {
    const startedAt = performance.now();
    if (startedAt - this.#readAt < READ_EVERY_MS) return;
    const before = now();
    const redis = await stream.time();
    [this.#readAt, this.#offsetMs] = [startedAt, redis - startedAt];
    // The answer belongs to a moment between the two readings.
    const [ahead, behind] = [before - redis, redis - now()];
    const seconds = ahead > behind ? ahead / 1000 : -behind / 1000;
    if (Math.max(ahead, behind) > SKEW_SECONDS * 1000)
      report({ type: "clock_skew", seconds: Math.round(seconds) });
  }
}
