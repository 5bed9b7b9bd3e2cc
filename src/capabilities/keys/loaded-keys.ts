import { orUndefined } from "../../core/errors.ts";
import type { importJwk } from "../../core/keys/import-key.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import { importLoadedJwks, type LoadedJwks } from "./jwks.ts";
import { KeyAge, type RemoteTiming } from "./key-age.ts";
import type {
  KeyEvent,
  KeyLoadReason,
  KeySourceContext,
  KeySourceStatus,
} from "../../core/keys/key-event.ts";
import {
  importMaterial,
  type JsonWebKeySet,
  keyIdsOf,
  type KeyQuery,
  type KeyResolver,
  selectKeys,
  type VerificationKey,
} from "../../core/keys/verification-key.ts";

/** The usable keys for a token. Final, unless a newer set could contain a key with the token's `kid`. */
interface Selection {
  readonly keys: readonly VerificationKey[];
  readonly isFinal: boolean;
}

interface LoadRules extends RemoteTiming {
  /** The file or URL of the source, as messages show it. */
  readonly source: string;
  readonly metadataUrl?: string;
  readonly load: (signal: AbortSignal) => Pending<JsonWebKeySet>;
  /** Whether the source has changed since it was last read, if it shows that without being read. */
  readonly isChanged?: () => boolean;
  /** The set, if it's loaded already. */
  readonly first?: JsonWebKeySet;
  readonly importEntry: typeof importJwk;
}

/** How long a token waits for new keys while the last good keys can be used. */
const AFTER_SUSPENSION_MS = 250;

/**
 * The keys of a JWK Set that changes, with one load at a time. Fresh keys are used at once, older ones only
 * while the source fails, for `staleMs`. Without usable keys, `find` throws: an outage invalidates no token.
 */
export class LoadedKeys implements KeyResolver {
  readonly #rules: LoadRules;
  readonly #context: KeySourceContext;
  readonly #now: () => number;
  readonly #age: KeyAge;
  #keys: ReadonlyMap<string, VerificationKey> = new Map();
  #list: readonly VerificationKey[] = [];
  #loading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #request: AbortController | undefined;
  #isClosed = false;
  /** Why the source was last read. */
  #reason: KeyLoadReason = "first_use";
  #lastSuccess: Date | undefined;
  #lastFailure: KeySourceStatus["lastFailure"];
  /** Whether the use of stale keys has been reported. */
  #isStale = false;
  /** The last report of what is wrong with single keys. */
  #problems = "";

  constructor(rules: LoadRules, context: KeySourceContext) {
    this.#rules = rules;
    this.#context = context;
    this.#now = () => readClock(context.now).getTime();
    this.#age = new KeyAge({ ...rules, now: this.#now });
    if (rules.first) this.#use(this.#import(rules.first).keys, 0);
  }

  find(query: KeyQuery): readonly VerificationKey[] | Promise<readonly VerificationKey[]> {
    const selection = this.#select(query);
    return selection?.isFinal ? selection.keys : this.#findAfterLoad(query);
  }

  async findNewer(query: KeyQuery): Promise<readonly VerificationKey[]> {
    const earlier = this.#list;
    try {
      if (!this.#loading && (this.#rules.isChanged || !this.#age.isCooledDown())) return [];
      await this.#load("bad_signature");
      this.#age.startCooldown();
      const matching = this.#select(query)?.keys ?? [];
      return matching.filter((key) => !earlier.includes(key));
    } catch {
      // The clock failed.
      return [];
    }
  }

  retryAfterSeconds(): number {
    return this.#age.retryAfterSeconds();
  }

  holds(key: VerificationKey): boolean {
    return this.#usableKeys()?.includes(key) ?? false;
  }

  async ready(): Promise<void> {
    if (this.#age.error || this.#age.state() !== "fresh" || this.#rules.isChanged?.())
      await this.#load("requested");
    await this.#requireKeys();
  }

  async refresh(): Promise<void> {
    await this.#loading;
    await this.#load("requested");
    await this.#requireKeys();
  }

  status(): KeySourceStatus {
    // Without a valid time, the age of the keys is unknown.
    const state = orUndefined(() => this.#age.state()) ?? "unavailable";
    const isUsed = state !== "unavailable";
    return compact({
      source: this.#rules.source,
      discovery: this.#rules.metadataUrl,
      state,
      keyIds: isUsed ? keyIdsOf(this.#list) : [],
      lastSuccess: this.#lastSuccess,
      lastFailure: this.#lastFailure,
      staleUntil: isUsed ? this.#age.staleUntil() : undefined,
    });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#isClosed = true;
    this.#request?.abort();
  }

  async #requireKeys(): Promise<void> {
    if (this.#age.error) throw this.#age.error;
    await importMaterial(this.#list);
  }

  /** Returns the keys that can be used without waiting. Starts a background refresh when one is due. */
  #usableKeys(): readonly VerificationKey[] | undefined {
    if (this.#rules.isChanged?.()) return undefined;
    if (this.#age.isDue()) void this.#load(this.#age.error ? "retry" : "age");
    const state = this.#age.state();
    if (state === "unavailable") this.#endStale("The last good keys are too old.");
    if (state === "stale" && !this.#isStale) {
      this.#isStale = true;
      this.#emit("stale", this.#age.error?.message);
    }
    return state === "fresh" || state === "stale" ? this.#list : undefined;
  }

  /** Returns `undefined` if no keys can be used without waiting. */
  #select(query: KeyQuery): Selection | undefined {
    const usable = this.#usableKeys();
    if (!usable) return undefined;
    const keys = selectKeys(usable, query);
    const hasSameKid = query.kid === undefined || keys[0]?.kid === query.kid;
    const isMatch = keys.length > 0 && (hasSameKid || usable.every(({ kid }) => kid === undefined));
    const isLatest = this.#rules.isChanged !== undefined && !this.#age.error;
    return { keys, isFinal: isMatch || isLatest };
  }

  async #findAfterLoad(query: KeyQuery): Promise<readonly VerificationKey[]> {
    if (this.#rules.isChanged?.()) await this.#load("changed");
    else if (this.#loading || this.#age.isCooledDown()) await this.#loadForToken();
    const selection = this.#select(query);
    if (selection?.isFinal) return selection.keys;
    const { error } = this.#age;
    // After a failure, the missing key may exist, so the token can't be rejected.
    if (error) throw error;
    if (!selection) throw new Error(`The keys of ${this.#rules.source} expired before they could be used.`);
    if (this.#age.isCooledDown()) this.#age.startCooldown();
    return selection.keys;
  }

  /** Waits for new keys: only shortly if the last good keys can be used, as while a source fails. */
  async #loadForToken(): Promise<void> {
    const loading = this.#load(this.#list.length > 0 ? "unknown_kid" : "first_use");
    if (this.#list.length > 0 && this.#age.state() === "unavailable") {
      // Only a process that was suspended has too old keys without a failure. Its connections may be dead.
      await withinLimit(loading, this.#rules.source, AFTER_SUSPENSION_MS).catch((error: unknown) => {
        if (!this.#age.error) this.#age.fail(error as Error, false);
      });
      if (this.#age.state() === "stale") return;
    }
    await loading;
  }

  /** Never rejects: it sets `#age.error`. Starts in a later microtask: the clock and hooks may call back. */
  #load(reason: KeyLoadReason): Promise<void> {
    return (this.#loading ??= Promise.resolve()
      .then(() => {
        this.#reason = reason;
        return this.#read();
      })
      .finally(() => (this.#loading = undefined)));
  }

  async #read(): Promise<void> {
    const { source, load, timeoutMs } = this.#rules;
    clearTimeout(this.#timer);
    const request = (this.#request = new AbortController());
    if (this.#isClosed) request.abort();
    try {
      // The age counts from the request: the source may change the set while it responds.
      const requestedAt = this.#now();
      const set = await withinLimit(load(request.signal), source, timeoutMs);
      this.#accept(this.#import(set), requestedAt);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(`${source} failed.`, { cause: error });
      this.#age.fail(failure, this.#isClosed);
      if (!this.#isClosed) {
        this.#lastFailure = { time: this.#time(), reason: failure.message };
        this.#emit("failed", failure.message);
      }
    }
    // Stops reading a response that arrives too late.
    request.abort();
    this.#schedule();
  }

  /** A key that is in use stays the same object. */
  #import(set: JsonWebKeySet): LoadedJwks {
    return importLoadedJwks(set, this.#context.algorithms, this.#keys, this.#rules.importEntry);
  }

  #accept({ keys, problems }: LoadedJwks, loadedAt: number): void {
    const { source } = this.#rules;
    const message = problems.join(" ");
    // Without this check, a mistake of the issuer would reject every token.
    if (keys.size === 0) throw new Error(`${source} has no usable keys. ${message}`);
    const isOther = keys.size !== this.#keys.size || [...keys.keys()].some((jwk) => !this.#keys.has(jwk));
    const isRotated = isOther && this.#list.length > 0;
    const isNewProblem = message !== "" && message !== this.#problems;
    this.#problems = message;
    this.#use(keys, loadedAt);
    this.#emit("fetched");
    this.#endStale();
    if (isRotated) this.#emit("rotated");
    if (isNewProblem) this.#emit("failed", message);
  }

  #use(keys: LoadedJwks["keys"], loadedAt: number): void {
    this.#keys = keys;
    this.#list = [...keys.values()];
    this.#age.succeed(loadedAt);
    this.#lastSuccess = this.#time();
  }

  #endStale(message?: string): void {
    if (this.#isStale) this.#emit("stale_ended", message);
    this.#isStale = false;
  }

  #emit(type: KeyEvent["type"], message?: string): void {
    const { source } = this.#rules;
    const [reason, keyIds, staleUntil] = [this.#reason, keyIdsOf(this.#list), this.#age.staleUntil()];
    this.#context.onKeyEvent(
      compact({ type, source, message, time: this.#time(), reason, keyIds, staleUntil }),
    );
  }

  /** A clock that fails must not hide an event. */
  #time(): Date {
    return new Date(orUndefined(this.#now) ?? Date.now());
  }

  /** Keeps the keys fresh without requests, and notices when the source works again. */
  #schedule(): void {
    const delay = this.#age.delay();
    if (this.#isClosed || delay === undefined) return;
    this.#timer = setTimeout(() => void this.#load(this.#age.error ? "retry" : "age"), delay).unref();
  }
}
