/** Follows the stream of revocations with a cursor, and restores entries that the store has lost. */
import { withinLimit } from "../../core/runtime/time-limit.ts";
import type { RevokedEntry } from "../../core/token/revocation.ts";
import type { RevocationEvent } from "./events.ts";
import type { RevocationLimits } from "./in-memory.ts";
import { RedisClock } from "./redis-clock.ts";
import { RevokedSet } from "./revoked-set.ts";
import { hasEnded, type RevocationStream, type StreamEntry, WriteError } from "./stream.ts";

interface FollowerRules {
  readonly pollMs: number;
  readonly report: (event: RevocationEvent) => void;
}

/** How many entries of the set are checked with each read, to delete those that have ended. */
const SWEPT_PER_READ = 1_000;
/** The shortest wait before the whole stream is read again, to delete what has ended. */
const TIDY_MS = 3_600_000;
/** The shortest wait before the stream is compared again, if entries may be missing. */
const COMPARE_MS = 1_000;

/** Returns a random moment between `ms` and twice `ms` from now, so that processes do not act together. */
const inMs = (ms: number): number => performance.now() + ms * (1 + Math.random());

export class Follower {
  readonly revoked: RevokedSet;
  /** Resolves when all revocations are known for the first time. */
  readonly firstRead: Promise<void>;
  /** When the last read that reached the end of the stream began. */
  readAt: Date | undefined;
  /** Why the last read failed. */
  fault: unknown;
  readonly #stream: RevocationStream;
  readonly #limits: Required<RevocationLimits>;
  readonly #rules: FollowerRules;
  /** When the store was last read, by a clock that is never set back. */
  #since = performance.now();
  #answeredAt = this.#since;
  /** The id of the last entry that was read. Without one, the whole stream is read. */
  #cursor: string | undefined;
  /** When to compare the whole stream with the set, because the stream may lack entries. */
  #compareAt = Infinity;
  /** The entries that were found in the stream so far, during a comparison. */
  #stored: RevokedSet | undefined;
  #isLossReported = false;
  #isFailureReported = false;
  #isReading = false;
  readonly #clock = new RedisClock();
  #timer: NodeJS.Timeout | undefined;
  #resolveFirstRead: () => void = () => undefined;

  constructor(stream: RevocationStream, limits: Required<RevocationLimits>, rules: FollowerRules) {
    this.#stream = stream;
    this.#limits = limits;
    this.#rules = rules;
    this.revoked = new RevokedSet(limits.maxEntries, limits.now);
    this.firstRead = new Promise((resolve) => (this.#resolveFirstRead = resolve));
  }

  /** Returns the time since the last read, or since the follower was created, in milliseconds. */
  sinceReadMs(): number {
    return performance.now() - this.#since;
  }

  /** Returns the time since the store answered. A long stream is read in several answers. */
  sinceAnswerMs(): number {
    return performance.now() - this.#answeredAt;
  }

  start(): void {
    const read = () => void this.#readOnce();
    this.#timer = setInterval(read, this.#rules.pollMs).unref();
    read();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Applies entries here at once, and writes them to the store. */
  async add(entries: readonly RevokedEntry[]): Promise<void> {
    for (const entry of entries) {
      this.revoked.add(entry);
      this.#stored?.add(entry);
    }
    try {
      await withinLimit(this.#stream.append(entries), "The write to the revocation store");
    } catch (cause) {
      this.#compareAt = 0;
      const message =
        "The revocation store did not confirm the revocation, which applies in this process only for now.";
      throw new Error(message, { cause });
    }
  }

  /** Reports once if the store has not answered for this time: a client may wait without an error. */
  checkLateness(lateMs: number): void {
    if (this.sinceAnswerMs() > lateMs)
      this.#reportFailure(this.fault ?? new Error(`Redis has not answered for ${lateMs} ms.`));
  }

  #reportFailure(cause: unknown): void {
    this.fault ??= cause;
    if (!this.#isFailureReported) this.#rules.report({ type: "failed", cause });
    this.#isFailureReported = true;
  }

  /** Reads, unless a read is running: while Redis hangs, a second one would only wait for the first. */
  async #readOnce(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const [since, readAt] = [performance.now(), new Date(this.#limits.now())];
    try {
      await this.#read();
      const wasOutOfReach = this.readAt === undefined || this.#isFailureReported;
      [this.#since, this.readAt, this.fault] = [since, readAt, undefined];
      this.#isFailureReported = false;
      this.#answeredAt = performance.now();
      if (wasOutOfReach) this.#rules.report({ type: "caught_up", entries: this.revoked.size });
      this.#resolveFirstRead();
    } catch (cause) {
      this.fault = cause;
      // Before the first read, the client may still be connecting.
      if (this.readAt) this.#reportFailure(cause);
    } finally {
      this.revoked.sweep(SWEPT_PER_READ);
      this.#isReading = false;
    }
    // The result of a slow read is already old.
    if (this.#timer && !this.fault && performance.now() - since > 2 * this.#rules.pollMs)
      void this.#readOnce();
  }

  async #read(): Promise<void> {
    await this.#clock.compare(this.#stream, this.#limits.now, this.#rules.report);
    if (this.#cursor === undefined || performance.now() >= this.#compareAt) return this.#readAll();
    let isFirst = true;
    for await (const batch of this.#stream.read(this.#cursor)) {
      // If the store no longer has the last entry that was read, it has lost others as well.
      if (isFirst && batch[0]?.id !== this.#cursor) return this.#readAll();
      this.#apply(batch.slice(isFirst ? 1 : 0));
      isFirst = false;
    }
  }

  /** Reads the whole stream, and writes back the entries of this process that the stream lacks. */
  async #readAll(): Promise<void> {
    // Compare again soon if this read fails: an incomplete comparison does not show what is missing.
    const again = inMs(COMPARE_MS);
    this.#compareAt = again;
    this.#cursor = undefined;
    const stored = this.revoked.size > 0 ? new RevokedSet(Infinity, this.#limits.now) : undefined;
    this.#stored = stored;
    const { keepSeconds } = this.#limits;
    let [first, firstKept]: (string | undefined)[] = [];
    try {
      for await (const batch of this.#stream.read()) {
        this.#apply(batch);
        first ??= batch[0]?.id;
        firstKept ??= batch.find((entry) => !hasEnded(entry, keepSeconds, this.#clock.now()))?.id;
        for (const { entry } of stored ? batch : []) if (entry) stored?.add(entry);
      }
      const missing = stored ? [...this.revoked.entries()].filter((entry) => !stored.covers(entry)) : [];
      await this.#restore(missing);
      if (missing.length === 0 && this.#compareAt === again) this.#compareAt = inMs(TIDY_MS);
      // The last entry stays: the next read begins with it.
      const kept = firstKept ?? this.#cursor;
      if (kept !== undefined && kept !== first) await this.#stream.trim(kept);
    } catch (error) {
      // A store that can only be read, such as a replica, is still followed.
      if (!(error instanceof WriteError)) throw error;
    } finally {
      this.#stored = undefined;
    }
  }

  async #restore(missing: readonly RevokedEntry[]): Promise<void> {
    if (missing.length > 0 && !this.#isLossReported)
      this.#rules.report({ type: "lost", entries: missing.length });
    this.#isLossReported = missing.length > 0;
    // If another process is writing them, the next comparison shows whether any is left.
    if (missing.length > 0 && (await this.#stream.restore(missing)))
      this.#rules.report({ type: "restored", entries: missing.length });
  }

  #apply(batch: readonly StreamEntry[]): void {
    this.#answeredAt = performance.now();
    const ids = batch.filter(({ entry }) => !entry).map(({ id }) => id);
    if (ids.length > 0) this.#rules.report({ type: "unreadable", ids });
    for (const { id, entry } of batch) {
      if (entry && entry.until > this.#limits.now() / 1000) this.revoked.add(entry);
      this.#cursor = id;
    }
  }
}
