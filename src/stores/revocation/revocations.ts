/** Revocations as keys of a store: each process reads the keys of a caller, and remembers the result. */
import { checkOptions } from "../../core/options/check-options.ts";
import {
  callback,
  clock,
  numberFrom,
  oneOf,
  optionError,
  type OptionChecks,
  wholeNumber,
} from "../../core/options/option-checks.ts";
import { BoundedMap } from "../../core/runtime/bounded-map.ts";
import { type Answer, type Breaker, breakerOf } from "../../core/runtime/breaker.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { changeKey } from "../../core/runtime/change-key.ts";
import { compact } from "../../core/runtime/compact.ts";
import { ignoreRejection, type Pending } from "../../core/runtime/pending.ts";
import type { Store } from "../../core/runtime/store.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import type { Principal } from "../../core/token/principal.ts";
import type {
  RevocationContext,
  RevocationOptions,
  RevocationStatus,
  Revocations,
  RevocationTarget,
} from "../../core/token/revocation.ts";
import { memoryStore } from "../store/memory.ts";
import { isOneProcess, markAsOneProcess } from "../store/one-process.ts";
import {
  covers,
  isEntry,
  isRevoking,
  isWithdrawn,
  keyOf,
  keysOf,
  merge,
  readValue,
  type StoredValue,
} from "./entries.ts";
import { createReport, type RevocationEvent } from "./events.ts";
import { toRevokedEntry, toRevokedSubject } from "./target.ts";

/** The options of `sharedRevocation`. */
export interface SharedRevocationOptions {
  /** How long the store's result for a caller is used, in milliseconds, up to 60,000. Default: `500`. */
  readonly freshMs?: number;
  /** How long a result is used while the store doesn't respond, in seconds, up to 3,600. Default: `30`. */
  readonly staleSeconds?: number;
  /**
   * What happens to a caller without a result of the last `staleSeconds` while the store doesn't respond.
   * `"refuse"`: it gets 503. `"accept"`: it is accepted, if the process has reached the store before.
   * Default: `"refuse"`.
   */
  readonly whenDown?: "refuse" | "accept";
  /**
   * The longest time that a revocation is kept, in seconds. It must be at least the lifetime of tokens.
   * Default: `2_592_000`, which is 30 days.
   */
  readonly keepSeconds?: number;
  /** Called when the store fails, becomes stale or recovers. Default: failures become process warnings. */
  readonly onEvent?: (event: RevocationEvent) => void;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

const OPTIONS: OptionChecks<SharedRevocationOptions> = {
  freshMs: numberFrom(0, 60_000),
  staleSeconds: numberFrom(1, 3_600),
  whenDown: oneOf("refuse", "accept"),
  keepSeconds: wholeNumber,
  onEvent: callback("Write a function that takes an event."),
  now: clock,
};

const DEFAULTS = {
  freshMs: 500,
  staleSeconds: 30,
  whenDown: "refuse",
  keepSeconds: 30 * 86_400,
  now: Date.now,
} as const;

/** Entries are stored for longer than needed, because the clocks of machines differ. */
const MARGIN_MS = 3_600_000;
/** A hundred years, which every store can add to its time. */
const MAX_TTL_MS = 3_155_760_000_000;

/** How many of its own changes a process remembers. They count until a caller's keys are read again. */
const MAX_CHANGES = 100_000;

/** How many answers of the store a process remembers: at most nine for each caller. */
const MAX_ANSWERS = 200_000;

/**
 * Shares revocations between processes through a store, for the option `revocation` of a server. All other
 * processes refuse a revoked token within `freshMs` plus one round trip to the store.
 *
 * It doesn't make revocations durable: that depends on the store and its settings.
 *
 * @throws TypeError for anything but a store
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { Redis } from "ioredis";
 * import { createResourceServer } from "scopegate";
 * import { sharedRevocation } from "scopegate/revocation";
 * import { redisStore } from "scopegate/store";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   revocation: sharedRevocation(redisStore(new Redis(process.env.REDIS_URL!))),
 * });
 * await server.revoke({ userId: "u1" }, { reason: "The account was closed." });
 * ```
 */
export function sharedRevocation(store: Store, options: SharedRevocationOptions = {}): Revocations {
  const { get, set, delete: remove } = Object(store) as Partial<Store>;
  if (typeof get !== "function" || typeof set !== "function" || typeof remove !== "function")
    throw new TypeError("sharedRevocation takes a store, such as redisStore(client) of scopegate/store.");
  checkOptions("sharedRevocation", options, OPTIONS);
  const rules = { ...DEFAULTS, ...compact(options) };
  if (rules.freshMs > rules.staleSeconds * 1000)
    throw optionError(
      ["sharedRevocation", "freshMs"],
      "is longer than `staleSeconds`.",
      "Write a shorter time: a result is fresh before it is stale.",
    );
  const stored = new StoredRevocations(store, rules);
  // Functions without `this`, so that a program can pass them on, or replace one of them.
  const revocations: Revocations = {
    isRevoked: (principal) => stored.isRevoked(principal),
    revoke: (target, details, context) => stored.revoke(target, details, context),
    unrevoke: (target, context) => stored.unrevoke(target, context),
    ready: (options) => stored.ready(options?.readOnly),
    status: () => stored.status(),
    close: () => stored.close(),
  };
  return isOneProcess(store) ? markAsOneProcess(revocations) : revocations;
}

/** The limits of `inMemoryRevocation`. */
export interface InMemoryRevocationOptions extends Pick<SharedRevocationOptions, "keepSeconds" | "now"> {
  /** The maximum number of entries. `server.revoke` rejects if there are more. Default: `1_000_000`. */
  readonly maxEntries?: number;
}

/**
 * Keeps revocations in one process, for the option `revocation` of a server. They are lost when the process
 * ends, and other processes don't see them.
 *
 * @throws ConfigurationError that lists every mistake in the options
 */
export function inMemoryRevocation(options: InMemoryRevocationOptions = {}): Revocations {
  const checks = { keepSeconds: wholeNumber, maxEntries: wholeNumber, now: clock };
  checkOptions("inMemoryRevocation", options, checks);
  const { maxEntries, ...rules } = options;
  const store = memoryStore(compact({ maxEntries, now: rules.now }));
  return sharedRevocation(store, rules);
}

/** The remembered result for a principal. */
interface Remembered {
  readonly keys: readonly string[];
  /** When the store was asked for the oldest of the answers, by `performance.now()`. */
  askedAt: number;
  isRevoked: boolean;
  asking: Promise<boolean> | undefined;
}

/** A change by this process. It counts for results that are older. */
interface Change {
  readonly value: StoredValue | undefined;
  /** When it was made, by the clock of the store if it answered. */
  readonly madeAtMs: number;
  /** When the store confirmed it, by `performance.now()`. */
  readonly confirmedAt: number;
}

/** Tokens that are younger are refused. A longer tolerance is a part of each revocation. */
const MAX_AHEAD_SECONDS = 5;

const NO_CHANGES: readonly Change[] = [];

const isPendingChange = ({ confirmedAt }: Change): boolean => confirmedAt === Infinity;

const NOT_CONFIRMED =
  "The store didn't confirm the change. For now, only this process refuses what was revoked.";

const NO_CLOCK =
  "The store of revocations has no `now`, so the clock of the process that revokes decides which tokens are older.";

type Rules = Required<Omit<SharedRevocationOptions, "onEvent">> & Pick<SharedRevocationOptions, "onEvent">;

class StoredRevocations {
  readonly #store: Store;
  readonly #breaker: Breaker;
  readonly #rules: Rules;
  readonly #report: (event: RevocationEvent) => void;
  readonly #stopWatching: () => void;
  readonly #remembered = new WeakMap<Principal, Remembered>();
  /** What the store has answered, which outlives the principals of the token cache. */
  readonly #answers = new BoundedMap<string, Answer>(MAX_ANSWERS);
  readonly #changes = new BoundedMap<string, Change>(MAX_CHANGES);
  /** The last change of each key that is being written. */
  readonly #writes = new Map<string, Promise<unknown>>();
  /** When the store last answered everything that a caller needs, by `performance.now()`. */
  #reachedAt: number | undefined;
  /** How far the clocks of issuers are ahead of this process, by the tokens that it has seen, in seconds. */
  #aheadSeconds = 0;
  #failedAt: number | undefined;
  #isStale = false;
  #warnings: readonly string[] = [];

  constructor(store: Store, rules: Rules) {
    this.#store = store;
    this.#breaker = breakerOf(store);
    this.#rules = rules;
    this.#report = createReport(rules.onEvent);
    this.#stopWatching = this.#breaker.watch((fault) => this.#noteFault(fault));
  }

  isRevoked(principal: Principal): Pending<boolean> {
    const remembered = this.#remembered.get(principal) ?? this.#remember(principal);
    const changes = this.#newerChanges(remembered);
    const isFresh = performance.now() - remembered.askedAt < this.#rules.freshMs;
    if (isFresh && changes.length === 0) return remembered.isRevoked;
    const isPending = changes.length > 0 && this.#areRevoking(changes.filter(isPendingChange), principal);
    if (isPending && isFresh) return true;
    const asking = (remembered.asking ??= this.#ask(principal, remembered));
    // Another process may have withdrawn it, but this request needn't wait for that.
    if (isPending) ignoreRejection(asking);
    return isPending || asking;
  }

  async revoke(
    target: RevocationTarget,
    options: RevocationOptions,
    context: RevocationContext,
  ): Promise<void> {
    const { nowMs, fault } = await this.#readClock(context);
    const { keepSeconds } = this.#rules;
    const entry = toRevokedEntry(target, options, { ...context, nowMs, keepSeconds });
    const key = keyOf(entry);
    const earlier = this.#changes.get(key);
    const value = merge(earlier && isPendingChange(earlier) ? earlier.value : undefined, entry);
    // In this process, the change takes effect at once, even if the store doesn't confirm it.
    this.#changes.set(key, { value, madeAtMs: nowMs, confirmedAt: Infinity });
    if (fault) throw new Error(NOT_CONFIRMED, { cause: fault });
    await this.#changeInTurn(key, nowMs, (stored) => (covers(stored, value) ? stored : merge(stored, value)));
  }

  async unrevoke(target: RevocationTarget, context: RevocationContext): Promise<boolean> {
    const key = keyOf(toRevokedSubject(target, context.principal));
    const { nowMs: withdrawnAt, fault } = await this.#readClock(context);
    if (fault) throw new Error(NOT_CONFIRMED, { cause: fault });
    let isRemoved = false;
    // The time stays in the store, and ends what other processes have not been able to write.
    await this.#changeInTurn(key, withdrawnAt, (stored) => {
      isRemoved ||= isEntry(stored);
      return isWithdrawn(stored) && stored.withdrawnAt >= withdrawnAt ? stored : { withdrawnAt };
    });
    return isRemoved;
  }

  async ready(readOnly = false): Promise<void> {
    await this.#breaker.prove(readOnly);
    this.#reachedAt = performance.now();
    await this.#findWarnings();
  }

  status(): RevocationStatus {
    const { fault } = this.#breaker;
    const { staleSeconds, whenDown } = this.#rules;
    const reachedAt = this.#reachedAt;
    const isUsable =
      this.#failedAt === undefined ||
      (reachedAt !== undefined &&
        (whenDown === "accept" || performance.now() - reachedAt < staleSeconds * 1000));
    const failing = isUsable ? "degraded" : "unavailable";
    const state: RevocationStatus["state"] = fault === undefined ? "ok" : failing;
    return compact({
      state,
      reachedAt: reachedAt === undefined ? undefined : new Date(performance.timeOrigin + reachedAt),
      cause: fault,
      warnings: this.#warnings.length > 0 ? this.#warnings : undefined,
    });
  }

  close(): void {
    this.#stopWatching();
  }

  #noteFault(fault: Error | undefined): void {
    const { staleSeconds, whenDown } = this.#rules;
    if (fault === undefined) {
      this.#failedAt = undefined;
      this.#isStale = false;
      this.#reachedAt = performance.now();
      this.#report({ type: "recovered" });
      // It may be another server, with other settings.
      this.#warnings = [];
      ignoreRejection(this.#findWarnings());
      return;
    }
    if (this.#failedAt === undefined) this.#report({ type: "failed", cause: fault });
    this.#failedAt ??= performance.now();
    const silentMs = performance.now() - (this.#reachedAt ?? this.#failedAt);
    if (this.#isStale || silentMs <= staleSeconds * 1000) return;
    this.#isStale = true;
    this.#report({ type: "stale", whenDown });
  }

  /** Reports each warning once. */
  async #findWarnings(): Promise<void> {
    const ofStore = (await withinLimit(this.#store.findWarnings?.(), "The store of revocations")) ?? [];
    const reported = this.#warnings;
    this.#warnings = this.#store.now ? ofStore : [...ofStore, NO_CLOCK];
    for (const message of this.#warnings)
      if (!reported.includes(message)) this.#report({ type: "warning", message });
  }

  #remember(principal: Principal): Remembered {
    const keys = keysOf(principal);
    // Otherwise, a token of such an issuer would survive a revocation that was made after it.
    const aheadSeconds = Number(principal.claims["iat"] ?? 0) - this.#nowSeconds();
    if (aheadSeconds > this.#aheadSeconds) this.#aheadSeconds = Math.min(aheadSeconds, MAX_AHEAD_SECONDS);
    const remembered = { keys, ...this.#recall(keys, principal), asking: undefined };
    this.#remembered.set(principal, remembered);
    return remembered;
  }

  /** Decides by answers, and where one is missing or an error, by the last answer for the key. */
  #recall(
    keys: readonly string[],
    principal: Principal,
    answers: readonly (Answer | Error)[] = [],
  ): Pick<Remembered, "askedAt" | "isRevoked"> {
    let askedAt = Infinity;
    let isRevoked = false;
    for (const [index, key] of keys.entries()) {
      const answer = answers[index];
      const isAnswered = answer !== undefined && !(answer instanceof Error);
      const lastAnswer = isAnswered ? answer : this.#answers.get(key);
      askedAt = Math.min(askedAt, lastAnswer?.askedAt ?? -Infinity);
      isRevoked ||= this.#isRevoking(readValue(lastAnswer?.value), principal);
    }
    return { askedAt, isRevoked };
  }

  /** Returns the changes by this process that a principal's result doesn't include. */
  #newerChanges({ keys, askedAt }: Remembered): readonly Change[] {
    if (this.#changes.size === 0) return NO_CHANGES;
    let newer: Change[] | undefined;
    for (const key of keys) {
      const change = this.#changes.get(key);
      if (change && change.confirmedAt >= askedAt) (newer ??= []).push(change);
    }
    return newer ?? NO_CHANGES;
  }

  #areRevoking(changes: readonly Change[], principal: Principal): boolean {
    return changes.some(({ value }) => this.#isRevoking(value, principal));
  }

  #isRevoking(value: StoredValue | undefined, principal: Principal): boolean {
    return isRevoking(value, principal, this.#nowSeconds(), this.#aheadSeconds);
  }

  async #ask(principal: Principal, remembered: Remembered): Promise<boolean> {
    const { keys } = remembered;
    try {
      const answers = await this.#breaker.get(keys);
      for (const [index, key] of keys.entries()) this.#keepAnswer(key, answers[index]);
      Object.assign(remembered, this.#recall(keys, principal, answers));
      // This process may have revoked the principal while the store was asked.
      if (remembered.isRevoked || this.#areRevoking(this.#newerChanges(remembered), principal)) return true;
      const fault = answers.find((answer) => answer instanceof Error);
      if (fault) return this.#acceptWithoutStore(remembered, fault);
      this.#reachedAt = Math.max(remembered.askedAt, this.#reachedAt ?? 0);
      return false;
    } finally {
      remembered.asking = undefined;
    }
  }

  #keepAnswer(key: string, answer: Answer | Error | undefined): void {
    if (!answer || answer instanceof Error) return;
    const staleAt = answer.askedAt - this.#rules.staleSeconds * 1000;
    // Two for each new answer, so that the number of old answers decreases.
    this.#answers.deleteOldest(({ askedAt }) => askedAt < staleAt, 2);
    this.#answers.set(key, answer);
    const change = this.#changes.get(key);
    if (!change) return;
    const value = readValue(answer.value);
    // Another process has withdrawn what this one couldn't write.
    if (isWithdrawn(value) && value.withdrawnAt > change.madeAtMs) this.#changes.delete(key);
  }

  /** @throws the fault, if it isn't known whether the principal is revoked */
  #acceptWithoutStore({ askedAt }: Remembered, fault: Error): false {
    const { staleSeconds, whenDown } = this.#rules;
    if (performance.now() - askedAt < staleSeconds * 1000) return false;
    if (whenDown === "accept" && this.#reachedAt !== undefined) return false;
    throw fault;
  }

  /** Changes a key in the store. The changes of this process run in turn, so that they don't compete. */
  async #changeInTurn(
    key: string,
    nowMs: number,
    edit: (stored: StoredValue | undefined) => StoredValue,
  ): Promise<void> {
    const before = this.#writes.get(key)?.catch(() => undefined) ?? Promise.resolve();
    const write = () =>
      changeKey(this.#breaker, key, (text) => {
        const stored = readValue(text);
        const value = edit(stored);
        if (value === stored) return undefined;
        return { value: JSON.stringify(value), options: { ttlMs: this.#ttlOf(value, nowMs) } };
      });
    const writing = before.then(write);
    this.#writes.set(key, writing);
    try {
      const text = await writing;
      const confirmedAt = performance.now();
      this.#answers.set(key, { value: text, askedAt: confirmedAt });
      // If another change of the key is waiting, the changes of this process stay in force until then.
      if (this.#writes.get(key) === writing)
        this.#changes.set(key, { value: readValue(text), madeAtMs: nowMs, confirmedAt });
    } catch (cause) {
      throw new Error(NOT_CONFIRMED, { cause });
    } finally {
      if (this.#writes.get(key) === writing) this.#writes.delete(key);
    }
  }

  #ttlOf(value: StoredValue, nowMs: number): number {
    const lastsMs = isEntry(value) ? value.until * 1000 - nowMs : this.#rules.keepSeconds * 1000;
    return Math.min(Math.max(lastsMs, 0) + MARGIN_MS, MAX_TTL_MS);
  }

  /** Reads the clock of the store, or that of this process if the store has none or doesn't answer. */
  async #readClock({ nowMs }: RevocationContext): Promise<{ nowMs: number; fault?: unknown }> {
    try {
      return { nowMs: (await this.#breaker.now()) ?? nowMs };
    } catch (fault) {
      return { nowMs, fault };
    }
  }

  #nowSeconds(): number {
    return readClock(this.#rules.now).getTime() / 1000;
  }
}
