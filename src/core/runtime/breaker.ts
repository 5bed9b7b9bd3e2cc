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

/** The questions of one turn of the event loop, which become one call of the store. */
interface Turn {
  readonly keys: Set<string>;
  readonly results: Promise<ReadonlyMap<string, Promise<Result>>>;
}

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
  #lastCall: unknown;
  /** Until when the last attempt may still be answered. */
  #patientUntil = -Infinity;
  #check: Promise<unknown> | undefined;
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
    return Promise.all(keys.map((key) => this.#faultOf(key) ?? this.#ask(key)));
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
    const key = PROBE + Math.random();
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

  async #ask(key: string): Promise<Result> {
    this.#turn ??= this.#startTurn();
    const { keys, results } = this.#turn;
    keys.add(key);
    return (await results).get(key) as Promise<Result>;
  }

  #startTurn(): Turn {
    this.#askedAt = performance.now();
    const keys = new Set<string>();
    const end = new Promise((resolve) => void setImmediate(resolve));
    const results = end.then(() => {
      this.#turn = undefined;
      return this.#read([...keys]);
    });
    return { keys, results };
  }

  /** One call for all keys. While only some keys fail, one for each, so that none waits for another. */
  #read(keys: readonly string[], isAttempt = false): ReadonlyMap<string, Promise<Result>> {
    const isPartial = !this.#outage && this.#failing.size > 0;
    const groups = isPartial ? keys.map((key) => [key]) : [keys].filter(({ length }) => length > 0);
    const calls = groups.map((group) => {
      const results = this.#readTogether(group, isAttempt);
      return group.map((key, index) => [key, results.then((all) => all[index] as Result)] as const);
    });
    return new Map(calls.flat());
  }

  /** An attempt asks for what is known to fail, so its failure says nothing about the rest of the store. */
  async #readTogether(keys: readonly string[], isAttempt: boolean): Promise<readonly Result[]> {
    const askedAt = performance.now();
    const results = await this.#call(keys, askedAt);
    for (const [index, result] of results.entries()) this.#note(keys[index] as string, result);
    // A later answer to others shows that the store works, but not for these keys.
    if (!isAttempt && this.#answeredAt < askedAt)
      this.#outage = results.find((result) => result instanceof Error);
    this.#report();
    return results;
  }

  async #call(keys: readonly string[], askedAt: number): Promise<readonly Result[]> {
    try {
      const call = this.#store.get(keys);
      this.#lastCall = call;
      const values: unknown = await withinLimit(call, "The store", READ_MS);
      if (Array.isArray(values) && values.length === keys.length)
        return values.map((value) => toResult(value, askedAt));
      throw NO_VALUES;
    } catch (cause) {
      return keys.map(() => asError(cause));
    }
  }

  #note(key: string, result: Result): void {
    this.#failing.delete(key);
    if (!(result instanceof Error)) {
      this.#answeredAt = performance.now();
      this.#outage = undefined;
    } else if (!key.startsWith(PROBE)) {
      this.#failing.set(key, result);
      const [oldest] = this.#failing.keys();
      if (this.#failing.size > MAX_FAILING && oldest !== undefined) this.#failing.delete(oldest);
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
      this.#check ??= this.#ask(key).finally(() => {
        this.#check = undefined;
      });
      throw cause;
    }
  }

  #faultOf(key: string): Error | undefined {
    const fault = this.#failing.get(key) ?? this.#outage;
    if (!fault) return undefined;
    this.#askedAt = performance.now();
    this.#retryLater();
    return fault;
  }

  #retryLater(): void {
    this.#timer ??= setTimeout(() => void this.#retry(), RETRY_MS).unref();
  }

  async #retry(): Promise<void> {
    if (performance.now() >= this.#patientUntil) await this.#probe();
    this.#timer = undefined;
    this.#report();
  }

  /** Asks for any key, and if it's answered, for some of the keys that fail. */
  async #probe(): Promise<void> {
    this.#patientUntil = performance.now() + PATIENCE_MS;
    await this.#readTogether([PROBE + Math.random()], true);
    if (!this.#outage) {
      const failing = [...this.#failing.keys()].slice(0, RETRIED_KEYS);
      await Promise.all(this.#read(failing, true).values());
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
