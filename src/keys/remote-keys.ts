import { attempt } from "../errors.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { type KeyEvent } from "./key-event.ts";
import { hasSameMembers, type RemoteJwks } from "./remote-jwks.ts";
import { type RemoteTiming } from "./remote-timing.ts";
import {
  isAnswer,
  type KeyQuery,
  type KeyResolver,
  selectKeys,
  type VerificationKey,
} from "./verification-key.ts";

/** Reads the set anew; `known` are the keys in use. */
export type RemoteLoad = (known: RemoteJwks["keys"], signal: AbortSignal) => Promise<RemoteJwks>;

interface RemoteRules extends RemoteTiming {
  /** How the source is named in messages. */
  readonly source: string;
  readonly load: RemoteLoad;
  readonly now: () => number;
  readonly tell: (event: Pick<KeyEvent, "type" | "message">) => void;
}

interface LoadedSet {
  readonly keys: RemoteJwks["keys"];
  readonly list: readonly VerificationKey[];
  readonly loadedAt: number;
}

/** A set is read again at this part of its age, so that the next one is there before it ends. */
const REFRESH_AT = 0.75;
/** What the timer waits for at least, however short the times are that requests are held to. */
const MIN_DELAY_MS = 1_000;

/**
 * The keys of a remote set. One flight at a time, whoever asks. Fresh keys answer at once; old ones answer only while their
 * source is known to have failed, and for a bounded time. Without keys there is no answer, which is an error and no
 * verdict on a token.
 */
export class RemoteKeys implements KeyResolver {
  readonly #rules: RemoteRules;
  #set: LoadedSet | undefined;
  /** Why the last attempt failed; `undefined` when it did not. */
  #failure: Error | undefined;
  /** Whether it is the source that failed; that the server was closed does not make old keys good. */
  #isDown = false;
  /** Since when the source is left alone: it failed, or did not have a key that it was asked for. */
  #restsSince: number | undefined;
  #flight: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStaleTold = false;
  #complaint = "";
  readonly #closing = new AbortController();

  constructor(rules: RemoteRules) {
    this.#rules = rules;
  }

  find(query: KeyQuery): readonly VerificationKey[] | Promise<readonly VerificationKey[]> {
    const list = this.#usable();
    const found = list && selectKeys(list, query);
    return list && found && isAnswer(found, list, query) ? found : this.#findAgain(query);
  }

  holds(key: VerificationKey): boolean {
    return this.#usable()?.includes(key) ?? false;
  }

  async ready(): Promise<void> {
    if (this.#failure || !this.#isFresh()) await this.#fetch();
    if (this.#failure) throw this.#failure;
    if (this.#set?.list.length === 0)
      throw new Error(`${this.#rules.source} is of no use. ${this.#complaint}`);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#closing.abort();
  }

  /** The keys that answer without waiting. Has the set read in the background when that is due. */
  #usable(): readonly VerificationKey[] | undefined {
    if (!this.#set) return undefined;
    const { maxAgeMs, staleMs } = this.#rules;
    const age = this.#sinceThen(this.#set.loadedAt);
    if (age >= maxAgeMs * REFRESH_AT && (!this.#failure || this.#isRested())) void this.#fetch();
    if (age < maxAgeMs) return this.#set.list;
    if (!this.#failure || !this.#isDown || !(age < maxAgeMs + staleMs)) return undefined;
    this.#tellStale(this.#failure);
    return this.#set.list;
  }

  /** For a token whose key is not there: asks the source, unless it has been asked just now. */
  async #findAgain(query: KeyQuery): Promise<readonly VerificationKey[]> {
    if (this.#flight || this.#isRested()) await this.#fetch();
    const list = this.#usable();
    const found = list && selectKeys(list, query);
    if (list && found && isAnswer(found, list, query)) return found;
    if (found && !this.#failure) {
      if (this.#isRested()) this.#restsSince = this.#rules.now();
      return found;
    }
    // Its key may be one that could not be fetched: nobody can tell whether this token is good.
    throw this.#failure ?? new Error(`${this.#rules.source} has not been read.`);
  }

  /** Never rejects: what went wrong is `#failure`. Begins once `#flight` is set: the clock and hooks may ask again. */
  #fetch(): Promise<void> {
    return (this.#flight ??= Promise.resolve()
      .then(() => this.#attempt())
      .finally(() => (this.#flight = undefined)));
  }

  async #attempt(): Promise<void> {
    const { source, load, timeoutMs, now } = this.#rules;
    clearTimeout(this.#timer);
    const flight = new AbortController();
    const abort = () => flight.abort();
    this.#closing.signal.addEventListener("abort", abort);
    try {
      if (this.#closing.signal.aborted) throw new Error(`${source} is read no more: the server was closed.`);
      // The set is as old as the question: its issuer may have changed it while it answered.
      const askedAt = now();
      const loaded = await withinLimit(load(this.#set?.keys ?? new Map(), flight.signal), source, timeoutMs);
      this.#adopt(loaded, askedAt);
    } catch (error) {
      this.#fail(error);
    }
    this.#closing.signal.removeEventListener("abort", abort);
    // An answer that came too late must not be read to its end.
    abort();
    this.#schedule();
  }

  #adopt({ keys, complaints }: RemoteJwks, loadedAt: number): void {
    const { tell } = this.#rules;
    const before = this.#set?.keys;
    const complaint = complaints.join(" ");
    const isNews = complaint !== "" && complaint !== this.#complaint;
    this.#set = { keys, list: [...keys.values()], loadedAt };
    this.#failure = undefined;
    this.#isDown = false;
    this.#isStaleTold = false;
    this.#complaint = complaint;
    tell({ type: "fetched" });
    if (before && !hasSameMembers(before, keys)) tell({ type: "rotated" });
    if (isNews) tell({ type: "failed", message: complaint });
  }

  #fail(error: unknown): void {
    const { source, now, tell } = this.#rules;
    this.#failure = error instanceof Error ? error : new Error(`${source} failed.`, { cause: error });
    // Counted from the end: whoever waited for an answer that did not come is not made to wait again at once.
    this.#restsSince = attempt(now) ?? this.#restsSince;
    if (this.#closing.signal.aborted) return;
    this.#isDown = true;
    tell({ type: "failed", message: this.#failure.message });
  }

  /** Keeps the set fresh while nobody asks, and notices by itself when its source is back. */
  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    const { cooldownMs, maxAgeMs } = this.#rules;
    const delay = Math.max(this.#failure ? cooldownMs : maxAgeMs * REFRESH_AT, MIN_DELAY_MS);
    this.#timer = setTimeout(() => void this.#fetch(), delay).unref();
  }

  #tellStale({ message }: Error): void {
    if (this.#isStaleTold) return;
    this.#isStaleTold = true;
    this.#rules.tell({ type: "stale", message });
  }

  #isFresh(): boolean {
    return this.#set !== undefined && this.#sinceThen(this.#set.loadedAt) < this.#rules.maxAgeMs;
  }

  /** Whether the source may be asked again by those who send tokens. */
  #isRested(): boolean {
    return this.#restsSince === undefined || this.#sinceThen(this.#restsSince) >= this.#rules.cooldownMs;
  }

  /** Either way: a clock that was set back must not make keys young for as long as it was set back. */
  #sinceThen(then: number): number {
    return Math.abs(this.#rules.now() - then);
  }
}
