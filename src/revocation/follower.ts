/** Follows the stream of revocations with a cursor, and restores entries that the store has lost. */
import { withinLimit } from "../runtime/time-limit.ts";
import { type RevokedEntry } from "../token/revocation.ts";
import { type RevocationEvent } from "./events.ts";
import { type RevocationLimits } from "./in-memory.ts";
import { RevokedSet } from "./revoked-set.ts";
import { type RevocationStream, type StreamEntry } from "./stream.ts";

interface FollowerRules {
  readonly pollMs: number;
  readonly report: (event: RevocationEvent) => void;
}

/** How many entries of the set are checked with each read, to delete those that have ended. */
const SWEPT_PER_READ = 1_000;
/** How often the clock of Redis is read, and which difference is reported. */
const CLOCK_EVERY_MS = 60_000;
const SKEW_SECONDS = 5;
/** The shortest wait before the stream is compared again. The longest is twice as long. */
const COMPARE_MS = 1_000;
/** For how long only one process may restore entries. After that, another one tries. */
const RESTORING_SECONDS = 30;

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
  /** The id of the last entry that was read. Without one, the whole stream is read. */
  #cursor: string | undefined;
  /** When to compare the whole stream with the set, because the stream may lack entries. */
  #compareAt = Infinity;
  /** The entries that were found in the stream so far, during a comparison. */
  #stored: RevokedSet | undefined;
  #isLossReported = false;
  #isReading = false;
  #clockReadAt = -CLOCK_EVERY_MS;
  #timer: NodeJS.Timeout | undefined;
  #resolveFirstRead: () => void = () => undefined;

  constructor(stream: RevocationStream, limits: Required<RevocationLimits>, rules: FollowerRules) {
    this.#stream = stream;
    this.#limits = limits;
    this.#rules = rules;
    this.revoked = new RevokedSet(limits.maxEntries, limits.now);
    this.firstRead = new Promise((resolve) => (this.#resolveFirstRead = resolve));
  }

  /** The time since the last read, or since the follower was created, in milliseconds. */
  sinceReadMs(): number {
    return performance.now() - this.#since;
  }

  start(): void {
    const read = () => void this.#readOnce();
    this.#timer = setInterval(read, this.#rules.pollMs).unref();
    read();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Applies entries in this process at once, and writes them to the store. */
  async add(entries: readonly RevokedEntry[]): Promise<void> {
    for (const entry of entries) {
      this.revoked.add(entry);
      this.#stored?.add(entry);
    }
    try {
      await withinLimit(this.#append(entries), "The write to the revocation store");
    } catch (cause) {
      this.#compareAt = 0;
      const message = "The revocation store did not confirm the revocation. It applies in this process only.";
      throw new Error(message, { cause });
    }
  }

  #append(entries: readonly RevokedEntry[]): Promise<void> {
    return this.#stream.append(entries, this.#limits.keepSeconds, this.#limits.now());
  }

  /** Not a second read at the same time: while Redis hangs, it would only wait for the first one. */
  async #readOnce(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const [since, readAt] = [performance.now(), new Date(this.#limits.now())];
    const wasOutOfReach = this.readAt === undefined || this.fault !== undefined;
    try {
      await this.#read();
      [this.#since, this.readAt, this.fault] = [since, readAt, undefined];
      if (wasOutOfReach) this.#rules.report({ type: "caught_up", entries: this.revoked.size });
      this.#resolveFirstRead();
    } catch (cause) {
      // Before the first read, the client may still be connecting.
      if (this.fault === undefined && this.readAt) this.#rules.report({ type: "failed", cause });
      this.fault = cause;
    } finally {
      this.revoked.sweep(SWEPT_PER_READ);
      this.#isReading = false;
    }
  }

  async #read(): Promise<void> {
    await this.#compareClocks();
    if (this.#cursor === undefined || performance.now() >= this.#compareAt) return this.#readAll();
    let isFirst = true;
    for await (const batch of this.#stream.read(this.#cursor)) {
      // If the store no longer has the last entry that was read, it has lost others as well.
      if (isFirst && batch[0]?.id !== this.#cursor) return this.#readAll();
      this.#apply(batch.slice(isFirst ? 1 : 0));
      isFirst = false;
    }
  }

  /** Reads the whole stream, and writes the entries of this process that it lacks again. */
  async #readAll(): Promise<void> {
    this.#compareAt = Infinity;
    this.#cursor = undefined;
    const stored = this.revoked.size > 0 ? new RevokedSet(Infinity, this.#limits.now) : undefined;
    this.#stored = stored;
    try {
      for await (const batch of this.#stream.read()) {
        this.#apply(batch);
        for (const { entry } of stored ? batch : []) if (entry) stored?.add(entry);
      }
      if (!stored) return;
      const missing = [...this.revoked.entries()].filter((entry) => !stored.covers(entry));
      await this.#restore(missing);
    } finally {
      this.#stored = undefined;
    }
  }

  async #restore(missing: readonly RevokedEntry[]): Promise<void> {
    if (missing.length > 0 && !this.#isLossReported)
      this.#rules.report({ type: "lost", entries: missing.length });
    this.#isLossReported = missing.length > 0;
    if (missing.length === 0) return;
    // Compares until nothing is missing: another process may be writing the same entries.
    this.#compareAt = performance.now() + COMPARE_MS * (1 + Math.random());
    if (!(await this.#stream.lock(RESTORING_SECONDS))) return;
    try {
      await this.#append(missing);
    } finally {
      // If this fails, the lock expires.
      await this.#stream.unlock().catch(() => undefined);
    }
    this.#rules.report({ type: "restored", entries: missing.length });
  }

  #apply(batch: readonly StreamEntry[]): void {
    const ids = batch.filter(({ entry }) => !entry).map(({ id }) => id);
    if (ids.length > 0) this.#rules.report({ type: "unreadable", ids });
    for (const { id, entry } of batch) {
      if (entry && entry.until > this.#limits.now() / 1000) this.revoked.add(entry);
      this.#cursor = id;
    }
  }

  async #compareClocks(): Promise<void> {
    const now = performance.now();
    if (now - this.#clockReadAt < CLOCK_EVERY_MS) return;
    const before = this.#limits.now();
    const redis = await this.#stream.time();
    this.#clockReadAt = now;
    // Redis read its clock at a moment between these two readings.
    const [ahead, behind] = [before - redis, redis - this.#limits.now()];
    const seconds = ahead > behind ? ahead / 1000 : -behind / 1000;
    if (Math.max(ahead, behind) > SKEW_SECONDS * 1000)
      this.#rules.report({ type: "clock_skew", seconds: Math.round(seconds) });
  }
}
