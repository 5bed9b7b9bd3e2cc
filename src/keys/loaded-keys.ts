import { withinLimit } from "../runtime/time-limit.ts";
import { type LoadedJwks } from "./jwks.ts";
import { KeyAge } from "./key-age.ts";
import { type KeyEvent } from "./key-event.ts";
import {
  importMaterial,
  type KeyQuery,
  type KeyResolver,
  selectKeys,
  type VerificationKey,
} from "./verification-key.ts";

/** When a remote set is fetched and how long it is used, in milliseconds. */
export interface RemoteTiming {
  /** How long one fetch may take, including discovery and redirects. Default: `5000`. */
  readonly timeoutMs: number;
  /**
   * How long no request is sent for a token after the source did not have its key. After a failure, the first delay is one
   * second, and each failure doubles it up to this time. Default: `30_000`.
   */
  readonly cooldownMs: number;
  /**
   * The maximum age of keys: a key that the issuer withdraws is rejected after this time at the latest, as long as the
   * source responds. Keys are refreshed in the background before that. Default: `600_000`, ten minutes.
   */
  readonly maxAgeMs: number;
  /** How much longer the last good keys are used while their source fails. Default: `3_600_000`, one hour. */
  readonly staleMs: number;
}

interface LoadRules extends RemoteTiming {
  /** The file or URL of the source as messages show it. */
  readonly source: string;
  /** Loads the set. `known` are the keys in use. */
  readonly load: (known: LoadedJwks["keys"], signal: AbortSignal) => Promise<LoadedJwks>;
  /** Whether the source has changed since it was last read, if it shows that without being read. */
  readonly isChanged?: () => boolean;
  /** The set, if it is loaded already. */
  readonly first?: LoadedJwks;
  readonly now: () => number;
  readonly emit: (event: Pick<KeyEvent, "type" | "message">) => void;
}

/**
 * The keys of a JWK Set that changes. At most one load runs at a time. Fresh keys are used without waiting. Expired keys
 * are used only while the source fails, and only for `staleMs`. Without usable keys `find` throws: an outage says nothing
 * about a token.
 */
export class LoadedKeys implements KeyResolver {
  readonly #rules: LoadRules;
  readonly #age: KeyAge;
  #keys: ReadonlyMap<string, VerificationKey> = new Map();
  #list: readonly VerificationKey[] = [];
  #loading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasReportedStale = false;
  #problems = "";
  readonly #closing = new AbortController();

  constructor(rules: LoadRules) {
    this.#rules = rules;
    this.#age = new KeyAge(rules);
    if (rules.first) this.#use(rules.first.keys, 0);
  }

  find(query: KeyQuery): readonly VerificationKey[] | Promise<readonly VerificationKey[]> {
    const found = this.#select(query);
    return found?.isFinal ? found.keys : this.#findAfterLoad(query);
  }

  async findNewer(query: KeyQuery): Promise<readonly VerificationKey[]> {
    const known = this.#list;
    try {
      if (!this.#loading && (this.#rules.isChanged || !this.#age.isCooledDown())) return [];
      await this.#load();
      this.#age.startCooldown();
      const found = this.#select(query)?.keys ?? [];
      return found.filter((key) => !known.includes(key));
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
    if (this.#age.error || this.#age.state() !== "fresh" || this.#isChanged()) await this.#load();
    if (this.#age.error) throw this.#age.error;
    await importMaterial(this.#list);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#closing.abort();
  }

  #isChanged(): boolean {
    return this.#rules.isChanged?.() ?? false;
  }

  /** The keys that can be used without waiting. Starts a background refresh when one is due. */
  #usableKeys(): readonly VerificationKey[] | undefined {
    if (this.#isChanged()) return undefined;
    if (this.#age.isDue()) void this.#load();
    const state = this.#age.state();
    if (state === "stale" && !this.#hasReportedStale) {
      this.#hasReportedStale = true;
      this.#rules.emit({ type: "stale", message: this.#age.error?.message ?? "" });
    }
    return state === "fresh" || state === "stale" ? this.#list : undefined;
  }

  /** The usable keys for a token. They are final unless newer keys could include one with the `kid` of the token. */
  #select(query: KeyQuery): { keys: readonly VerificationKey[]; isFinal: boolean } | undefined {
    const all = this.#usableKeys();
    if (!all) return undefined;
    const keys = selectKeys(all, query);
    const isNamed = query.kid === undefined || keys[0]?.kid === query.kid;
    const isFound = keys.length > 0 && (isNamed || all.every(({ kid }) => kid === undefined));
    const isLatest = this.#rules.isChanged !== undefined && !this.#age.error;
    return { keys, isFinal: isFound || isLatest };
  }

  async #findAfterLoad(query: KeyQuery): Promise<readonly VerificationKey[]> {
    if (this.#loading || this.#isChanged() || this.#age.isCooledDown()) await this.#load();
    const found = this.#select(query);
    if (found?.isFinal) return found.keys;
    const { error } = this.#age;
    // After a failure, the missing key may exist: the token cannot be judged.
    if (!found || error)
      throw error ?? new Error(`The keys of ${this.#rules.source} expired before they could be used.`);
    if (this.#age.isCooledDown()) this.#age.startCooldown();
    return found.keys;
  }

  /** Never rejects: a failure is stored in `#age`. Starts in a later microtask, because the clock and hooks may call back. */
  #load(): Promise<void> {
    return (this.#loading ??= Promise.resolve()
      .then(() => this.#read())
      .finally(() => (this.#loading = undefined)));
  }

  async #read(): Promise<void> {
    const { source, load, timeoutMs, now } = this.#rules;
    clearTimeout(this.#timer);
    const request = new AbortController();
    const abort = () => request.abort();
    if (this.#closing.signal.aborted) abort();
    this.#closing.signal.addEventListener("abort", abort);
    try {
      // The age counts from the request: the source may change the set while it responds.
      const requestedAt = now();
      this.#accept(await withinLimit(load(this.#keys, request.signal), source, timeoutMs), requestedAt);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(`${source} failed.`, { cause: error }));
    }
    this.#closing.signal.removeEventListener("abort", abort);
    // Stops reading a response that came too late.
    abort();
    this.#schedule();
  }

  #accept({ keys, problems }: LoadedJwks, loadedAt: number): void {
    const { source, emit } = this.#rules;
    const message = problems.join(" ");
    // Without this, a mistake of the issuer would reject every token.
    if (keys.size === 0) throw new Error(`${source} has no usable keys. ${message}`);
    const isFirst = this.#list.length === 0;
    const isRotated = keys.size !== this.#keys.size || [...keys.keys()].some((jwk) => !this.#keys.has(jwk));
    const isNewProblem = message !== "" && message !== this.#problems;
    this.#use(keys, loadedAt);
    this.#hasReportedStale = false;
    this.#problems = message;
    emit({ type: "fetched" });
    if (isRotated && !isFirst) emit({ type: "rotated" });
    if (isNewProblem) emit({ type: "failed", message });
  }

  #use(keys: LoadedJwks["keys"], loadedAt: number): void {
    this.#keys = keys;
    this.#list = [...keys.values()];
    this.#age.succeed(loadedAt);
  }

  #fail(error: Error): void {
    const isClosed = this.#closing.signal.aborted;
    this.#age.fail(error, isClosed);
    if (!isClosed) this.#rules.emit({ type: "failed", message: error.message });
  }

  /** Keeps the keys fresh without requests, and notices when the source works again. */
  #schedule(): void {
    const delay = this.#age.delay();
    if (this.#closing.signal.aborted || delay === undefined) return;
    this.#timer = setTimeout(() => void this.#load(), delay).unref();
  }
}
