/** Revocations as keys of a store: each process reads the keys of a caller, and remembers the result. */
import {
  callback,
  checkOptions,
  clock,
  numberFrom,
  oneOf,
  optionError,
  type OptionChecks,
  wholeNumber,
} from "../../core/options/check-options.ts";
import { BoundedMap } from "../../core/runtime/bounded-map.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { Store } from "../../core/runtime/store.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { RevocationStatus, Revocations } from "../../core/token/revocation.ts";
import { memoryStore } from "../store/memory.ts";
import {
  areRevoking,
  endOfEntries,
  keyOf,
  keysOf,
  mergeEntry,
  readEntries,
  type StoredEntry,
  withoutEntry,
  writeEntries,
} from "./entries.ts";
import { createReport, type RevocationEvent } from "./events.ts";
import { Questions } from "./questions.ts";
import { type RevokedEntry, type RevokedSubject, toRevokedEntry, toRevokedSubject } from "./target.ts";

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

/** How many of its own changes a process remembers. They count until a caller's keys are read again. */
const MAX_CHANGES = 100_000;

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
  const revocations = new StoredRevocations(store, rules);
  // Functions without `this`, so that a program can pass them on, or replace one of them.
  return {
    isRevoked: (principal) => revocations.isRevoked(principal),
    // Async, so that a wrong target rejects the promise.
    revoke: async (target, details, context) =>
      revocations.add(toRevokedEntry(target, details, { ...context, keepSeconds: rules.keepSeconds })),
    unrevoke: async (target, { principal }) => revocations.remove(toRevokedSubject(target, principal)),
    ready: () => revocations.ready(),
    status: () => revocations.status(),
    close: () => revocations.close(),
  };
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
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { inMemoryRevocation } from "scopegate/revocation";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   revocation: inMemoryRevocation(),
 * });
 * await server.revoke({ userId: "u1" }, { reason: "The account was closed." });
 * ```
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
  /** When the store was asked, by `performance.now()`. */
  askedAt: number;
  isRevoked: boolean;
  asking: Promise<boolean> | undefined;
}

/** A change by this process. It counts for results that are older. */
interface Change {
  readonly entries: readonly StoredEntry[];
  /** When the store confirmed it, by `performance.now()`. */
  readonly confirmedAt: number;
}

const NO_CHANGES: readonly Change[] = [];

const isPendingChange = ({ confirmedAt }: Change): boolean => confirmedAt === Infinity;

const NOT_CONFIRMED =
  "The store didn't confirm the change. For now, only this process refuses what was revoked.";

/** The latest time that a `Date` can have. */
const MAX_DATE = 8.64e15;

type Rules = Required<Omit<SharedRevocationOptions, "onEvent">> & Pick<SharedRevocationOptions, "onEvent">;

class StoredRevocations {
  readonly #store: Store;
  readonly #rules: Rules;
  readonly #questions: Questions;
  readonly #remembered = new WeakMap<Principal, Remembered>();
  readonly #changes = new BoundedMap<string, Change>(MAX_CHANGES);
  /** The last change of each key that is being written. */
  readonly #writes = new Map<string, Promise<unknown>>();
  #warnings: readonly string[] = [];

  constructor(store: Store, rules: Rules) {
    this.#store = store;
    this.#rules = rules;
    this.#questions = new Questions(store, { ...rules, report: createReport(rules.onEvent) });
  }

  isRevoked(principal: Principal): Pending<boolean> {
    const remembered = this.#remembered.get(principal) ?? this.#remember(principal);
    const changes = this.#newerChanges(remembered);
    if (changes.length > 0 && this.#areRevoking(changes.filter(isPendingChange), principal)) return true;
    if (changes.length === 0 && performance.now() - remembered.askedAt < this.#rules.freshMs)
      return remembered.isRevoked;
    const { fault } = this.#questions;
    if (fault !== undefined) return this.#decideWithoutStore(principal, remembered, fault);
    return (remembered.asking ??= this.#ask(principal, remembered));
  }

  async add(entry: RevokedEntry): Promise<void> {
    const key = keyOf(entry);
    const earlier = this.#changes.get(key)?.entries ?? [];
    // In this process, the change takes effect at once, even if the store doesn't confirm it.
    this.#changes.set(key, { entries: mergeEntry(earlier, entry), confirmedAt: Infinity });
    await this.#changeInTurn(key, (stored) => mergeEntry(stored, entry));
  }

  async remove({ issuer, ...subject }: RevokedSubject): Promise<boolean> {
    let isRemoved = false;
    await this.#changeInTurn(keyOf(subject), (stored) => {
      const entries = withoutEntry(stored, issuer);
      isRemoved = entries.length < stored.length;
      return entries;
    });
    return isRemoved;
  }

  async ready(): Promise<void> {
    await this.#questions.ask(["revoked:ready"]);
    this.#warnings = (await this.#within(this.#store.findWarnings?.())) ?? [];
  }

  status(): RevocationStatus {
    const { fault, reachedAt } = this.#questions;
    const sinceMs = reachedAt === undefined ? Infinity : performance.now() - reachedAt;
    const isUsable =
      sinceMs < this.#rules.staleSeconds * 1000 ||
      (this.#rules.whenDown === "accept" && reachedAt !== undefined);
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
    this.#questions.close();
  }

  #remember(principal: Principal): Remembered {
    const remembered = { keys: keysOf(principal), askedAt: -Infinity, isRevoked: false, asking: undefined };
    this.#remembered.set(principal, remembered);
    return remembered;
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
    const now = this.#nowSeconds();
    return changes.some(({ entries }) => areRevoking(entries, principal, now));
  }

  async #ask(principal: Principal, remembered: Remembered): Promise<boolean> {
    try {
      const { values, askedAt } = await this.#questions.ask(remembered.keys);
      const now = this.#nowSeconds();
      remembered.isRevoked = values.some((value) => areRevoking(readEntries(value), principal, now));
      remembered.askedAt = askedAt;
      // This process may have revoked the principal while the store was asked.
      return remembered.isRevoked || this.#areRevoking(this.#newerChanges(remembered), principal);
    } catch (cause) {
      return this.#decideWithoutStore(principal, remembered, cause);
    } finally {
      remembered.asking = undefined;
    }
  }

  /** @throws the cause, if it isn't known whether the principal is revoked */
  #decideWithoutStore(principal: Principal, remembered: Remembered, cause: unknown): boolean {
    const { staleSeconds, whenDown } = this.#rules;
    if (remembered.isRevoked || this.#areRevoking(this.#newerChanges(remembered), principal)) return true;
    if (performance.now() - remembered.askedAt < staleSeconds * 1000) return false;
    if (whenDown === "accept" && this.#questions.reachedAt !== undefined) return false;
    throw cause;
  }

  /**
   * Changes the value of a key in the store. The changes of this process run in turn, so that none gets lost.
   */
  async #changeInTurn(
    key: string,
    edit: (stored: readonly StoredEntry[]) => readonly StoredEntry[],
  ): Promise<void> {
    const before = this.#writes.get(key) ?? Promise.resolve();
    const writing = before.catch(() => undefined).then(() => this.#write(key, edit));
    this.#writes.set(key, writing);
    try {
      const entries = await writing;
      // If another change of the key is waiting, the changes of this process stay in force until then.
      if (this.#writes.get(key) === writing)
        this.#changes.set(key, { entries, confirmedAt: performance.now() });
    } catch (cause) {
      throw new Error(NOT_CONFIRMED, { cause });
    } finally {
      if (this.#writes.get(key) === writing) this.#writes.delete(key);
    }
  }

  async #write(
    key: string,
    edit: (stored: readonly StoredEntry[]) => readonly StoredEntry[],
  ): Promise<readonly StoredEntry[]> {
    const [value] = await this.#within(this.#store.get([key]));
    const entries = edit(readEntries(value));
    if (entries.length === 0) await this.#within(this.#store.delete(key));
    else {
      const until = new Date(Math.min(endOfEntries(entries) + MARGIN_MS, MAX_DATE));
      await this.#within(this.#store.set(key, writeEntries(entries), { until }));
    }
    return entries;
  }

  #within<Result>(result: PromiseLike<Result> | Result): Promise<Result> {
    return withinLimit(result, "The store of revocations");
  }

  #nowSeconds(): number {
    return readClock(this.#rules.now).getTime() / 1000;
  }
}
