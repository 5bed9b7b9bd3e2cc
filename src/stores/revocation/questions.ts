/** Reads keys from a store, with a time limit, and tracks whether the store responds. */
import type { Store } from "../../core/runtime/store.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import type { RevocationEvent } from "./events.ts";

/** How long a response may take, and the time between two attempts to reach a store that fails. */
const RESPONSE_MS = 2_000;
const RETRY_MS = 250;

/** How many of the keys without a value an attempt asks for. */
const RETRIED_KEYS = 10;

interface Question {
  readonly keys: readonly string[];
  readonly resolve: (reply: StoreReply) => void;
  readonly reject: (cause: unknown) => void;
}

/** The values of the requested keys. */
export interface StoreReply {
  readonly values: readonly (string | undefined)[];
  /** When the store was asked, by `performance.now()`. */
  readonly askedAt: number;
}

interface QuestionRules {
  readonly staleSeconds: number;
  readonly whenDown: "refuse" | "accept";
  readonly report: (event: RevocationEvent) => void;
}

export class Questions {
  readonly #store: Store;
  readonly #rules: QuestionRules;
  #waiting: Question[] = [];
  #reachedAt: number | undefined;
  #fault: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStale = false;
  #isClosed = false;

  constructor(store: Store, rules: QuestionRules) {
    this.#store = store;
    this.#rules = rules;
  }

  /** Why the store doesn't respond; `undefined` if it does, or wasn't asked yet. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** When the last request to which the store responded was sent, by `performance.now()`. */
  get reachedAt(): number | undefined {
    return this.#reachedAt;
  }

  /**
   * Reads the values of keys. All requests in one turn of the event loop become one call of the store. While
   * the store fails, it isn't called: requests must not wait, or fill the memory of a client that hangs.
   */
  async ask(keys: readonly string[]): Promise<StoreReply> {
    if (this.#fault !== undefined) throw this.#fault;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => void this.#askAll());
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #askAll(): Promise<void> {
    const questions = this.#waiting;
    this.#waiting = [];
    const keys = [...new Set(questions.flatMap((question) => question.keys))];
    try {
      const { values, askedAt } = await this.#read(keys);
      const byKey = new Map(keys.map((key, index) => [key, values[index]]));
      for (const question of questions)
        question.resolve({ values: question.keys.map((key) => byKey.get(key)), askedAt });
    } catch (cause) {
      this.#fail(cause, keys);
      for (const { reject } of questions) reject(cause);
    }
  }

  async #read(keys: readonly string[]): Promise<StoreReply> {
    const askedAt = performance.now();
    const values = await withinLimit(this.#store.get(keys), "The store of revocations", RESPONSE_MS);
    if (!Array.isArray(values) || values.length !== keys.length || !values.every(isValue))
      throw new TypeError("`get` of a store must return one string or undefined for each key.");
    this.#reachedAt = Math.max(askedAt, this.#reachedAt ?? 0);
    return { values: values as StoreReply["values"], askedAt };
  }

  #fail(cause: unknown, keys: readonly string[]): void {
    const isFirst = this.#fault === undefined;
    this.#fault = asError(cause);
    if (!isFirst || this.#isClosed) return;
    this.#rules.report({ type: "failed", cause: this.#fault });
    this.#retryLater(keys.slice(0, RETRIED_KEYS), performance.now());
  }

  #retryLater(keys: readonly string[], failedAt: number): void {
    this.#timer = setTimeout(() => void this.#retry(keys, failedAt), RETRY_MS).unref();
  }

  async #retry(keys: readonly string[], failedAt: number): Promise<void> {
    const { staleSeconds, whenDown, report } = this.#rules;
    try {
      await this.#read(keys);
      this.#fault = undefined;
      this.#isStale = false;
      report({ type: "recovered" });
    } catch (cause) {
      this.#fault = asError(cause);
      const silentMs = performance.now() - (this.#reachedAt ?? failedAt);
      if (!this.#isStale && silentMs > staleSeconds * 1000) {
        this.#isStale = true;
        report({ type: "stale", whenDown });
      }
      if (!this.#isClosed) this.#retryLater(keys, failedAt);
    }
  }
}

const asError = (cause: unknown): Error =>
  cause instanceof Error ? cause : new Error("The store of revocations failed.", { cause });

const isValue = (value: unknown): boolean => value === undefined || typeof value === "string";
