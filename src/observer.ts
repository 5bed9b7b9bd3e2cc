/** Reports decisions to `onDecision`, to a channel, and to the log for development. */
import { type DecisionEvent, type ObservedRequest } from "./options/options.ts";
import { type ResolvedOptions } from "./options/resolve.ts";
import { type Decision, refusalIn } from "./policy/decision.ts";
import { createRefusalLog } from "./refusal-log.ts";
import { type AccessRequest, withoutCredentials } from "./request.ts";
import { DECISION_CHANNEL, publish } from "./runtime/channels.ts";
import { notify } from "./runtime/notify.ts";

/** What the channel `scopegate:decision` of `node:diagnostics_channel` publishes. */
export interface DecisionMessage {
  /** The decision. */
  readonly decision: Decision;
  /** The request, without credentials and query. */
  readonly request: ObservedRequest;
  /** When it was made, and how long it took. */
  readonly event: DecisionEvent;
}

export class Observer {
  readonly #rules: Pick<ResolvedOptions, "issuers" | "now" | "onDecision">;
  readonly #logRefusal: ReturnType<typeof createRefusalLog>;
  /** When the decision of a request began, in milliseconds. Empty if `isListening` is `false`. */
  readonly #starts = new WeakMap<AccessRequest, number>();

  constructor(rules: Pick<ResolvedOptions, "issuers" | "now" | "onDecision">) {
    this.#rules = rules;
    this.#logRefusal = createRefusalLog(rules.issuers.configurations);
  }

  /** Returns whether a hook or a channel receives decisions. */
  get isListening(): boolean {
    return DECISION_CHANNEL.hasSubscribers || this.#rules.onDecision !== undefined;
  }

  /** Returns whether decisions are reported or refusals are logged. If not, callers skip work for reports. */
  get isWatching(): boolean {
    return this.isListening || this.#logRefusal.isEnabled();
  }

  /** Logs an answer that is not a decision, such as the answer to a body that cannot be read. */
  logAnswer(words: string, request: AccessRequest | undefined): void {
    if (request) this.#logRefusal(words, () => withoutCredentials(request));
  }

  /** Starts to measure a decision. */
  start(request: AccessRequest): void {
    if (this.isListening) this.#starts.set(request, performance.now());
  }

  /** Logs a refusal, calls `onDecision`, publishes to the channel, and returns the decision. */
  observe(decision: Decision, request: AccessRequest): Decision {
    if (refusalIn(decision)) this.#logRefusal(decision, () => withoutCredentials(request));
    if (this.isListening) this.#report(decision, request);
    return decision;
  }

  #report(decision: Decision, given: AccessRequest): void {
    const { onDecision } = this.#rules;
    const [request, event] = [withoutCredentials(given), this.#describe(given)];
    if (onDecision) notify(onDecision, decision, request, event);
    if (DECISION_CHANNEL.hasSubscribers)
      publish(DECISION_CHANNEL, { decision, request, event } satisfies DecisionMessage);
  }

  #describe(request: AccessRequest): DecisionEvent {
    const now = performance.now();
    const event = { at: this.#rules.now(), durationMs: now - (this.#starts.get(request) ?? now) };
    // Not enumerable: the request of a framework holds the token, and programs log whole objects.
    return Object.defineProperty(event, "source", { value: request.source });
  }
}
