import { orUndefined } from "../errors.ts";
import { compact } from "../runtime/compact.ts";
import { type KeyAge } from "./key-age.ts";
import {
  type KeyEvent,
  type KeyLoadReason,
  type KeySourceContext,
  type KeySourceStatus,
  type KeyState,
} from "./key-event.ts";

interface ReportRules {
  readonly source: string;
  readonly metadataUrl?: string;
  readonly now: () => number;
  readonly emit: KeySourceContext["onKeyEvent"];
}

/** Reports a loaded key source to operators: its events and its status. */
export class KeyReport {
  /** Why the source was last read. */
  reason: KeyLoadReason = "first_use";
  readonly #rules: ReportRules;
  readonly #age: KeyAge;
  readonly #keyIds: () => readonly string[];
  #lastSuccess: Date | undefined;
  #lastFailure: KeySourceStatus["lastFailure"];
  #isStale = false;
  #problems = "";

  constructor(rules: ReportRules, age: KeyAge, keyIds: () => readonly string[]) {
    this.#rules = rules;
    this.#age = age;
    this.#keyIds = keyIds;
  }

  /** Records a success without events, as at construction. */
  recordSuccess(): void {
    this.#lastSuccess = this.#time();
  }

  /** `problems` are those of single keys; they are reported when they change. */
  succeed(isRotated: boolean, problems: string): void {
    const isNewProblem = problems !== "" && problems !== this.#problems;
    this.#problems = problems;
    this.recordSuccess();
    this.#emit("fetched");
    this.#endStale();
    if (isRotated) this.#emit("rotated");
    if (isNewProblem) this.#emit("failed", problems);
  }

  fail({ message }: Error): void {
    this.#lastFailure = { time: this.#time(), reason: message };
    this.#emit("failed", message);
  }

  /** Reports when stale keys begin to be used, and when they are too old. */
  observe(state: KeyState): void {
    if (state === "unavailable") this.#endStale("The last good keys are too old.");
    if (state !== "stale" || this.#isStale) return;
    this.#isStale = true;
    this.#emit("stale", this.#age.error?.message);
  }

  status(): KeySourceStatus {
    // Without a valid time, the age of keys is unknown.
    const state = orUndefined(() => this.#age.state()) ?? "unavailable";
    const isUsed = state !== "unavailable";
    return compact({
      source: this.#rules.source,
      discovery: this.#rules.metadataUrl,
      state,
      keyIds: isUsed ? this.#keyIds() : [],
      lastSuccess: this.#lastSuccess,
      lastFailure: this.#lastFailure,
      staleUntil: isUsed ? this.#staleUntil() : undefined,
    });
  }

  #endStale(message?: string): void {
    if (this.#isStale) this.#emit("stale_ended", message);
    this.#isStale = false;
  }

  #emit(type: KeyEvent["type"], message?: string): void {
    const event = {
      type,
      source: this.#rules.source,
      message,
      time: this.#time(),
      reason: this.reason,
      keyIds: this.#keyIds(),
      staleUntil: this.#staleUntil(),
    };
    this.#rules.emit(compact(event));
  }

  #staleUntil(): Date | undefined {
    const time = this.#age.staleUntil();
    return time === undefined ? undefined : new Date(time);
  }

  /** A clock that fails must not hide an event. */
  #time(): Date {
    return new Date(orUndefined(this.#rules.now) ?? Date.now());
  }
}
