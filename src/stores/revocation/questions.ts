/** Asks a store what it has for keys, with a time limit, and knows whether it answers. */
import type { Store } from "../../core/runtime/store.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import type { RevocationEvent } from "./events.ts";

/** How long an answer may take, and the time between two attempts to reach a store that fails. */
const ANSWER_MS = 2_000;
const RETRY_MS = 250;

/** How many keys an attempt asks for, of those that were not answered. */
const RETRIED_KEYS = 10;

interface Question {
  readonly keys: readonly string[];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (cause: unknown) => void;
}

/** The values of the keys of a question. */
export interface Answer {
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

  /** Why the store does not answer; `undefined` if it does, or was not asked yet. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** When the store was last asked a question that it answered, by `performance.now()`. */
  get reachedAt(): number | undefined {
    return this.#reachedAt;
  }

  /**
   * Asks for the values of keys. All questions of one turn of the event loop are one call of the store. While
   * it fails, it is not asked: requests must not wait, or fill the memory of a client that hangs.
   */
  async ask(keys: readonly string[]): Promise<Answer> {
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

  async #read(keys: readonly string[]): Promise<Answer> {
    const askedAt = performance.now();
    const values = await withinLimit(this.#store.get(keys), "The store of revocations", ANSWER_MS);
    if (!Array.isArray(values) || values.length !== keys.length || !values.every(isValue))
      throw new TypeError("`get` of a store must return one string or undefined for each key.");
    this.#reachedAt = Math.max(askedAt, this.#reachedAt ?? 0);
    return { values: values as Answer["values"], askedAt };
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
