import { attempt } from "../errors.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { type RemoteJwks } from "./jwks.ts";
import { type KeyEvent } from "./key-event.ts";
import { type KeyQuery, type KeyResolver, selectKeys, type VerificationKey } from "./verification-key.ts";

/** When a remote set is fetched and how long it is used, in milliseconds. */
export interface RemoteTiming {
  /** How long one fetch may take, including discovery and redirects. Default: `5000`. */
  readonly timeoutMs: number;
  /** How long no request is sent after the source failed or did not have a requested key. Default: `30_000`. */
  readonly cooldownMs: number;
  /**
   * The maximum age of keys: a key that the issuer withdraws is rejected after this time at the latest, as long as the
   * source responds. Keys are refreshed in the background before that. Default: `600_000`, ten minutes.
   */
  readonly maxAgeMs: number;
  /** How much longer the last good keys are used while their source fails. Default: `3_600_000`, one hour. */
  readonly staleMs: number;
}

interface RemoteRules extends RemoteTiming {
  /** The URL of the source as messages show it. */
  readonly source: string;
  /** Fetches the set. `known` are the keys in use. */
  readonly load: (known: RemoteJwks["keys"], signal: AbortSignal) => Promise<RemoteJwks>;
  readonly now: () => number;
  readonly emit: (event: Pick<KeyEvent, "type" | "message">) => void;
}

/** A set is refreshed after this fraction of `maxAgeMs`, so that the new set arrives before the old one expires. */
const REFRESH_AT = 0.75;
/** The shortest delay of the background timer, even if the options set shorter times. */
const MIN_DELAY_MS = 1_000;

/**
 * The keys of a remote JWK Set. At most one fetch runs at a time. Fresh keys are used without waiting. Expired keys are
 * used only while the source fails, and only for `staleMs`. Without usable keys `find` throws: an outage says nothing
 * about a token.
 */
export class RemoteKeys implements KeyResolver {
  readonly #rules: RemoteRules;
  #keys: ReadonlyMap<string, VerificationKey> = new Map();
  #list: readonly VerificationKey[] = [];
  /** When the set was requested; `undefined` before the first success. */
  #loadedAt: number | undefined;
  /** Why the last fetch failed; `undefined` if it succeeded. */
  #error: Error | undefined;
  /** Whether the source itself failed. Closing the server also sets `#error`, but must not make expired keys valid. */
  #isDown = false;
  /** When the source last failed or did not have a requested key. */
  #cooldownStart: number | undefined;
  #fetching: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasReportedStale = false;
  #problems = "";
  readonly #closing = new AbortController();

  constructor(rules: RemoteRules) {
    this.#rules = rules;
  }

  find(query: KeyQuery): readonly VerificationKey[] | Promise<readonly VerificationKey[]> {
    const found = this.#select(query);
    return found?.isFinal ? found.keys : this.#findAfterFetch(query);
  }

  holds(key: VerificationKey): boolean {
    return this.#usableKeys()?.includes(key) ?? false;
  }

  async ready(): Promise<void> {
    const isFresh = this.#loadedAt !== undefined && this.#since(this.#loadedAt) < this.#rules.maxAgeMs;
    if (this.#error || !isFresh) await this.#fetch();
    if (this.#error) throw this.#error;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#closing.abort();
  }

  /** The keys that can be used without waiting. Starts a background refresh when one is due. */
  #usableKeys(): readonly VerificationKey[] | undefined {
    if (this.#loadedAt === undefined) return undefined;
    const { maxAgeMs, staleMs, emit } = this.#rules;
    const age = this.#since(this.#loadedAt);
    if (age >= maxAgeMs * REFRESH_AT && (!this.#error || this.#isCooledDown())) void this.#fetch();
    if (age < maxAgeMs) return this.#list;
    // Negated, so that an age of NaN does not pass.
    if (!this.#error || !this.#isDown || !(age < maxAgeMs + staleMs)) return undefined;
    if (!this.#hasReportedStale) {
      this.#hasReportedStale = true;
      emit({ type: "stale", message: this.#error.message });
    }
    return this.#list;
  }

  /** The usable keys for a token. They are final unless a newer set could contain a key with the `kid` of the token. */
  #select(query: KeyQuery): { keys: readonly VerificationKey[]; isFinal: boolean } | undefined {
    const all = this.#usableKeys();
    if (!all) return undefined;
    const keys = selectKeys(all, query);
    const isNamed = query.kid === undefined || keys[0]?.kid === query.kid;
    const isFinal = keys.length > 0 && (isNamed || all.every(({ kid }) => kid === undefined));
    return { keys, isFinal };
  }

  async #findAfterFetch(query: KeyQuery): Promise<readonly VerificationKey[]> {
    if (this.#fetching || this.#isCooledDown()) await this.#fetch();
    const found = this.#select(query);
    if (found?.isFinal) return found.keys;
    // After a failure, the missing key may exist: the token cannot be judged.
    if (!found || this.#error)
      throw this.#error ?? new Error(`The keys of ${this.#rules.source} expired before they could be used.`);
    if (this.#isCooledDown()) this.#cooldownStart = this.#rules.now();
    return found.keys;
  }

  /** Never rejects: a failure is stored in `#error`. Starts in a later microtask, because the clock and hooks may call back. */
  #fetch(): Promise<void> {
    return (this.#fetching ??= Promise.resolve()
      .then(() => this.#load())
      .finally(() => (this.#fetching = undefined)));
  }

  async #load(): Promise<void> {
    const { source, load, timeoutMs, now } = this.#rules;
    clearTimeout(this.#timer);
    const request = new AbortController();
    const abort = () => request.abort();
    this.#closing.signal.addEventListener("abort", abort);
    try {
      if (this.#closing.signal.aborted)
        throw new Error(`${source} cannot be fetched: the resource server is closed.`);
      // The age counts from the request: the issuer may change the set while it responds.
      const requestedAt = now();
      this.#accept(await withinLimit(load(this.#keys, request.signal), source, timeoutMs), requestedAt);
    } catch (error) {
      this.#fail(error);
    }
    this.#closing.signal.removeEventListener("abort", abort);
    // Stops reading a response that came too late.
    abort();
    this.#schedule();
  }

  #accept({ keys, problems }: RemoteJwks, loadedAt: number): void {
    const { source, emit } = this.#rules;
    const message = problems.join(" ");
    // Without this, a mistake of the issuer would reject every token.
    if (keys.size === 0) throw new Error(`${source} has no usable keys. ${message}`);
    const isRotated =
      this.#loadedAt !== undefined &&
      (keys.size !== this.#keys.size || [...keys.keys()].some((jwk) => !this.#keys.has(jwk)));
    const isNewProblem = message !== "" && message !== this.#problems;
    this.#keys = keys;
    this.#list = [...keys.values()];
    this.#loadedAt = loadedAt;
    this.#error = undefined;
    this.#isDown = false;
    this.#hasReportedStale = false;
    this.#problems = message;
    emit({ type: "fetched" });
    if (isRotated) emit({ type: "rotated" });
    if (isNewProblem) emit({ type: "failed", message });
  }

  #fail(error: unknown): void {
    const { source, now, emit } = this.#rules;
    this.#error = error instanceof Error ? error : new Error(`${source} failed.`, { cause: error });
    // The cooldown counts from the end, so that a request that waited for a timeout does not start another one.
    this.#cooldownStart = attempt(now) ?? this.#cooldownStart;
    if (this.#closing.signal.aborted) return;
    this.#isDown = true;
    emit({ type: "failed", message: this.#error.message });
  }

  /** Keeps the set fresh without requests, and notices when the source works again. */
  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    const { cooldownMs, maxAgeMs } = this.#rules;
    const delay = Math.max(this.#error ? cooldownMs : maxAgeMs * REFRESH_AT, MIN_DELAY_MS);
    this.#timer = setTimeout(() => void this.#fetch(), delay).unref();
  }

  /** Returns whether a token may cause another fetch. */
  #isCooledDown(): boolean {
    return this.#cooldownStart === undefined || this.#since(this.#cooldownStart) >= this.#rules.cooldownMs;
  }

  /** Absolute, because a clock that is set back must not keep withdrawn keys valid for longer. */
  #since(time: number): number {
    return Math.abs(this.#rules.now() - time);
  }
}
