/** Asks a store for everyone who uses it, and answers at once for what the store can't answer. */
import { hash } from "node:crypto";
import { compact } from "./compact.ts";
import { ShareError } from "./memory-store.ts";
import type { OwnedOptions, Store } from "./store.ts";
import { withinLimit } from "./time-limit.ts";

/** How long the store may take to read, and to write, which may include waiting for replicas. */
const READ_MS = 2_500;
const WRITE_MS = 5_000;
/** The time between two attempts to reach what fails. */
const RETRY_MS = 250;
/**
 * How long an attempt may take in the client until another one begins. More writes to a dead connection would
 * delay the timeout of the client.
 */
const PATIENCE_MS = 10_000;
/** How long attempts go on if nobody asks for anything. */
const INTEREST_MS = 60_000;
const RETRIED_KEYS = 10;
const MAX_FAILING = 10_000;
const PROBE = "probe:";
/** The store deletes a probe after this time, if this process ends before. */
const PROBE_MS = 60_000;

/** The value of a key. */
export interface Answer {
  readonly value: string | undefined;
  /** When the store was asked, by `performance.now()`. */
  readonly askedAt: number;
}

type Result = Answer | Error;

/** Who asks for each key in one turn of the event loop: all questions become one call of the store. */
type Turn = Map<string, ((result: Result) => void)[]>;

export class Breaker {
  readonly #store: Store;
  readonly #watchers = new Set<(fault: Error | undefined) => void>();
  #turn: Turn | undefined;
  /** Why the store answers nothing. */
  #outage: Error | undefined;
  /** Why these keys can't be read, such as those of a dead node of a cluster; the last failure at the end. */
  readonly #failing = new Map<string, Error>();
  #writeFault: Error | undefined;
  #answeredAt = -Infinity;
  #lastError: Error | undefined;
  #lastCall: unknown;
  /** Until when the last attempt may still be answered. */
  #patientUntil = -Infinity;
  #isChecking = false;
  #timer: NodeJS.Timeout | undefined;
  /** When someone has last asked for something, by `performance.now()`. */
  #askedAt = -Infinity;
  #wasFailing = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Why something can't be read or written; `undefined` if nothing fails, or the store wasn't asked yet. */
  get fault(): Error | undefined {
    return this.#readFault ?? this.#writeFault;
  }

  get #readFault(): Error | undefined {
    return this.#outage ?? this.#failing.values().next().value;
  }

  /** Calls a function with the fault after each failed attempt to read, and with `undefined` afterwards. */
  watch(watcher: (fault: Error | undefined) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Reads keys. What is known to fail isn't asked again: callers must not wait, or fill a hanging client. */
  get(keys: readonly string[]): Promise<readonly Result[]> {
    return Promise.all(keys.map(async (key) => this.#faultOf(key) ?? this.#ask(key)));
  }

  /** Reads one key. Rejects if it fails. */
  async read(key: string): Promise<string | undefined> {
    const [answer] = await this.get([key]);
    if (answer instanceof Error) throw answer;
    return answer?.value;
  }

  /** Writes a value. Rejects unless the store reports that it's stored, or with `ifAbsent`, that it isn't. */
  set(key: string, value: string, options: OwnedOptions = {}): Promise<boolean> {
    return this.#write(key, async () => {
      const isStored: unknown = await this.#store.set(key, value, options);
      if (isStored === true || (isStored === false && options.ifAbsent === true)) return isStored;
      throw new TypeError("`set` of a store must return `true` when the value is stored.");
    });
  }

  delete(key: string): Promise<void> {
    return this.#write(key, () => this.#store.delete(key));
  }

  /**
   * Stores an id for a time. Returns `true` only for the first call with this id. It's hashed, because a
   * client chooses it, and some stores limit the length of keys.
   */
  rememberOnce(id: string, ttlMs: number, owner?: string): Promise<boolean> {
    const key = `replay:${hash("sha256", id, "base64url")}`;
    return this.set(key, "1", compact({ ttlMs, ifAbsent: true, owner }));
  }

  /** Returns the time of the store's clock; `undefined` if the store has none. */
  async now(): Promise<number | undefined> {
    if (!this.#store.now) return undefined;
    if (this.#outage) throw this.#outage;
    const now: unknown = await withinLimit(this.#store.now(), "The clock of the store", READ_MS);
    if (typeof now === "number" && Number.isFinite(now)) return now;
    throw new TypeError("`now` of a store must return milliseconds since the epoch.");
  }

  /**
   * Writes a probe, reads it back, and deletes it. With `isReadOnly`, only reads.
   *
   * @throws Error that says how the store differs from its interface
   */
  async prove(isReadOnly = false): Promise<void> {
    const key = `${PROBE}${Math.random()}`;
    const expectValue = async (expected: string | undefined, when: string): Promise<void> => {
      if ((await this.read(key)) !== expected)
        throw new Error(`The store returned another value ${when}. Does it read from a replica?`);
    };
    await expectValue(undefined, "for a key that was never set");
    await this.now();
    if (isReadOnly) return;
    const value = JSON.stringify({ probe: true });
    await this.set(key, value, { ttlMs: PROBE_MS });
    await expectValue(value, "than the one that it has confirmed");
    if (await this.set(key, "another", { ttlMs: PROBE_MS, ifAbsent: true }))
      throw new Error("The `set` of the store ignores `ifAbsent`.");
    await expectValue(value, "after a `set` with `ifAbsent`");
    await this.delete(key);
    await expectValue(undefined, "for a key that was deleted");
  }

  #ask(key: string): Promise<Result> {
    return new Promise((resolve) => {
      this.#turn ??= this.#startTurn();
      const callers = this.#turn.get(key);
      if (callers) callers.push(resolve);
      else this.#turn.set(key, [resolve]);
    });
  }

  #startTurn(): Turn {
    const turn: Turn = new Map();
    this.#askedAt = performance.now();
    setImmediate(() => {
      this.#turn = undefined;
      void this.#read([...turn.keys()], turn);
    });
    return turn;
  }

  /** One call for all keys. While only some keys fail, one for each, so that none waits for another. */
  async #read(keys: readonly string[], turn?: Turn): Promise<void> {
    const isPartial = !this.#outage && this.#failing.size > 0;
    const groups = isPartial ? keys.map((key) => [key]) : [keys];
    await Promise.all(groups.map((group) => this.#readTogether(group, turn)));
  }

  /** Without a turn, it's an attempt: if what is known to fail fails, this says nothing about other keys. */
  async #readTogether(keys: readonly string[], turn?: Turn): Promise<void> {
    const askedAt = performance.now();
    const results = await this.#call(keys, askedAt);
    for (const [key, result] of results) this.#note(key, result);
    // A later answer to others shows that the store works, but not for these keys.
    if (turn && this.#answeredAt < askedAt) this.#outage = this.#lastError;
    for (const [key, result] of results) for (const resolve of turn?.get(key) ?? []) resolve(result);
    this.#report();
  }

  async #call(
    keys: readonly string[],
    askedAt: number,
  ): Promise<readonly (readonly [key: string, result: Result])[]> {
    try {
      const call = this.#store.get(keys);
      this.#lastCall = call;
      const values: unknown = await withinLimit(call, "The store", READ_MS);
      if (!Array.isArray(values) || values.length !== keys.length) throw NO_VALUES;
      return keys.map((key, index) => [key, toResult(values[index], askedAt)]);
    } catch (cause) {
      return keys.map((key) => [key, asError(cause)]);
    }
  }

  #note(key: string, result: Result): void {
    this.#failing.delete(key);
    if (!(result instanceof Error)) {
      this.#answeredAt = performance.now();
      this.#outage = undefined;
      return;
    }
    this.#lastError = result;
    if (!key.startsWith(PROBE)) this.#failing.set(key, result);
    for (const oldest of this.#failing.keys()) {
      if (this.#failing.size <= MAX_FAILING) break;
      this.#failing.delete(oldest);
    }
  }

  async #write<T>(key: string, write: () => Promise<T>): Promise<T> {
    const fault = this.#faultOf(key);
    if (fault) throw fault;
    try {
      const result = await withinLimit(write(), "The store", WRITE_MS);
      this.#writeFault = undefined;
      return result;
    } catch (cause) {
      if (!(cause instanceof ShareError)) this.#writeFault = asError(cause);
      // A full store still answers questions, and one that hangs doesn't.
      void this.#checkReads(key);
      throw cause;
    }
  }

  /** Only one at a time, because many writes may fail at once. */
  async #checkReads(key: string): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    await this.#ask(key);
    this.#isChecking = false;
  }

  #faultOf(key: string): Error | undefined {
    const fault = this.#failing.get(key) ?? this.#outage;
    if (!fault) return undefined;
    this.#askedAt = performance.now();
    this.#retryLater();
    return fault;
  }

  #retryLater(): void {
    if (this.#timer === undefined) this.#timer = setTimeout(() => void this.#retry(), RETRY_MS).unref();
  }

  async #retry(): Promise<void> {
    if (performance.now() >= this.#patientUntil) await this.#probe();
    this.#timer = undefined;
    this.#report();
  }

  /** Asks for any key, and if it's answered, for some of the keys that fail. */
  async #probe(): Promise<void> {
    this.#patientUntil = performance.now() + PATIENCE_MS;
    await this.#readTogether([`${PROBE}${Math.random()}`]);
    if (!this.#outage && this.#failing.size > 0) {
      const failing = [...this.#failing.keys()].slice(0, RETRIED_KEYS);
      await this.#read(failing);
      if (!failing.some((key) => this.#failing.has(key))) this.#failing.clear();
    }
    const stopWaiting = (): void => {
      this.#patientUntil = -Infinity;
    };
    Promise.resolve(this.#lastCall).then(stopWaiting, stopWaiting);
  }

  #report(): void {
    const fault = this.#readFault;
    if (!fault && !this.#wasFailing) return;
    this.#wasFailing = fault !== undefined;
    for (const watcher of this.#watchers) watcher(fault);
    const isWanted = this.#watchers.size > 0 || performance.now() - this.#askedAt < INTEREST_MS;
    if (fault && isWanted) this.#retryLater();
  }
}

const breakers = new WeakMap<Store, Breaker>();

/** Returns the only breaker of a store. */
export function breakerOf(store: Store): Breaker {
  const breaker = breakers.get(store) ?? new Breaker(store);
  breakers.set(store, breaker);
  return breaker;
}

const NO_VALUES = new TypeError(
  "`get` of a store must return a string, `undefined` or an `Error` for each key. Does its client parse JSON?",
);

function toResult(value: unknown, askedAt: number): Result {
  if (value instanceof Error) return value;
  return value === undefined || typeof value === "string" ? { value, askedAt } : NO_VALUES;
}

const asError = (cause: unknown): Error =>
  cause instanceof Error ? cause : new Error("The store failed.", { cause });
