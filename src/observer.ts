/** Reports decisions to `onDecision`, and to the log for development. */
import { type DecisionEvent } from "./options/options.ts";
import { type ResolvedOptions } from "./options/resolve.ts";
import { type Decision } from "./policy/decision.ts";
import { createRefusalLog } from "./refusal-log.ts";
import { type AccessRequest, withoutCredentials } from "./request.ts";
import { notify } from "./runtime/notify.ts";

export class Observer {
  readonly #rules: Pick<ResolvedOptions, "issuers" | "now" | "onDecision">;
  readonly #logRefusal: ReturnType<typeof createRefusalLog>;
  /** When the decision of a request began, in milliseconds. Empty without `onDecision`. */
  readonly #starts = new WeakMap<AccessRequest, number>();

  constructor(rules: Pick<ResolvedOptions, "issuers" | "now" | "onDecision">) {
    this.#rules = rules;
    this.#logRefusal = createRefusalLog(rules.issuers.configurations);
  }

  /** Begins the duration of a decision. */
  start(request: AccessRequest): void {
    if (this.#rules.onDecision) this.#starts.set(request, performance.now());
  }

  /** Reports a decision. */
  observe(decision: Decision, request: AccessRequest): Decision {
    const { onDecision } = this.#rules;
    if (!decision.allowed) this.#logRefusal(decision, () => withoutCredentials(request));
    if (onDecision) notify(onDecision, decision, withoutCredentials(request), this.#describe(request));
    return decision;
  }

  #describe(request: AccessRequest): DecisionEvent {
    const now = performance.now();
    const event = { at: this.#rules.now(), durationMs: now - (this.#starts.get(request) ?? now) };
    // Not enumerable: the request of a framework holds the token, and programs log whole objects.
    return Object.defineProperty(event, "source", { value: request.source });
  }
}
