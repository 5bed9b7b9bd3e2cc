/** Reports decisions to `onDecision`, to a channel, and to the log for development. */
import { debuglog } from "node:util";
import { compact } from "./runtime/compact.ts";
import type { DecisionEvent } from "./options/options.ts";
import type { ResolvedOptions } from "./options/resolve.ts";
import type { Decision } from "./policy/decision.ts";
import type { RefusalLog } from "./refusal-log.ts";
import { type ObservedRequest, withoutCredentials } from "./observed-request.ts";
import type { AccessRequest } from "./request.ts";
import { DECISION_CHANNEL, publish } from "./runtime/channels.ts";
import { notify } from "./runtime/notify.ts";
import { withoutTokens } from "./runtime/printable.ts";

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
  readonly #rules: Pick<ResolvedOptions, "issuers" | "now" | "onDecision" | "policy">;
  /** Absent without `NODE_DEBUG=scopegate`: it's not loaded then. */
  readonly #refusalLog: Promise<RefusalLog> | undefined;
  /** When the decision of a request began, in milliseconds. Empty if `isListening` is `false`. */
  readonly #starts = new WeakMap<AccessRequest, number>();

  constructor(rules: Pick<ResolvedOptions, "issuers" | "now" | "onDecision" | "policy">) {
    this.#rules = rules;
    const log = debuglog("scopegate");
    if (!log.enabled) return;
    this.#refusalLog = import("./refusal-log.ts").then(({ createRefusalLog }) =>
      createRefusalLog(rules.issuers.configurations, log),
    );
  }

  /** Returns whether a hook or a channel receives decisions. */
  get isListening(): boolean {
    return DECISION_CHANNEL.hasSubscribers || this.#rules.onDecision !== undefined;
  }

  /** Returns whether decisions are reported or refusals are logged. If not, callers skip this work. */
  get isWatching(): boolean {
    return this.isListening || this.#refusalLog !== undefined;
  }

  /** Logs a response that isn't a decision, such as the response to a body that can't be read. */
  logResponse(description: string, request: AccessRequest | undefined): void {
    if (request) this.#log((log) => log.logResponse(description, request));
  }

  /** Starts to measure a decision. */
  start(request: AccessRequest): void {
    if (this.isListening) this.#starts.set(request, performance.now());
  }

  /** Logs a refusal, calls `onDecision`, publishes to the channel, and returns the decision. */
  observe(decision: Decision, request: AccessRequest): Decision {
    if (this.#refusalLog) this.#log((log) => log.logDecision(decision, request));
    if (this.isListening) this.#report(decision, request);
    return decision;
  }

  #log(write: (log: RefusalLog) => void): void {
    void this.#refusalLog?.then(write).catch(() => undefined);
  }

  #report(decision: Decision, request: AccessRequest): void {
    const { onDecision } = this.#rules;
    const message: DecisionMessage = {
      decision: withoutSentTokens(decision),
      request: withoutCredentials(request),
      event: this.#createEvent(request),
    };
    if (onDecision) notify(onDecision, message.decision, message.request, message.event);
    if (DECISION_CHANNEL.hasSubscribers) publish(DECISION_CHANNEL, message);
  }

  #createEvent(request: AccessRequest): DecisionEvent {
    const now = performance.now();
    const durationMs = now - (this.#starts.get(request) ?? now);
    const event = { at: this.#rules.now(), durationMs, policy: this.#rules.policy };
    // Not enumerable, because the framework's request holds the token, and programs log whole objects.
    return Object.defineProperty(event, "source", { value: request.source });
  }
}

/**
 * Returns the decision for hooks. It's the same object, unless a client sent a token in the value of a
 * scope's parameter, or in the name of an operation that an explanation quotes.
 */
function withoutSentTokens<Made extends Decision>(decision: Made): Made {
  const { shadow } = decision;
  const shown = typeof shadow === "object" ? withoutSentTokens(shadow) : shadow;
  const cause = "cause" in decision && typeof decision.cause === "string" ? decision.cause : "";
  const texts = [cause, ...decision.required];
  if (shown === shadow && texts.every((text) => withoutTokens(text) === text)) return decision;
  return Object.freeze({
    ...decision,
    required: Object.freeze(decision.required.map(withoutTokens)),
    missing: Object.freeze(decision.missing.map(withoutTokens)),
    satisfied: Object.freeze(
      decision.satisfied.map((satisfaction) => ({
        ...satisfaction,
        required: withoutTokens(satisfaction.required),
      })),
    ),
    ...compact({ cause: cause === "" ? undefined : withoutTokens(cause), shadow: shown }),
  });
}
