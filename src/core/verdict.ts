/** The verdict on a request, which adapters keep until its route runs. */
import type { Decision } from "./policy/decision.ts";
import type { Governing } from "./policy/governing.ts";
import type { HandlerValues } from "./policy/handler-values.ts";
import type { FindRules } from "./policy/shadow.ts";
import type { RoutePattern } from "./policy/table.ts";
import type { AccessRequest } from "./request.ts";
import type { Pending } from "./runtime/pending.ts";
import type { Principal } from "./token/principal.ts";

/** A route that is about to run, and the current state of the request. */
export interface RunningRoute
  extends Pick<AccessRequest, "method" | "target" | "matchedPattern">, HandlerValues {
  /** How the route is written; `undefined` refuses the request, because the route no longer matches it. */
  readonly patterns: readonly RoutePattern[] | undefined;
}

/** Whether a request is allowed, and the data to check the matched route later. */
export interface Verdict {
  readonly isAllowed: boolean;
  readonly principal: Principal | undefined;
  readonly governing: Governing;
  /** Finds the rules for the same question in another policy. */
  readonly find: FindRules;
  /** The request as it was when the guard ran: later code may change the framework's request. */
  readonly request: AccessRequest;
  /** Header fields that the response should have. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Describes the decision. For an allowed request, this takes as long as deciding it. */
  readonly decision: () => Decision;
}

/** A verdict, or a promise of it if something must be awaited, such as the verification of a token. */
export type PendingVerdict = Pending<Verdict>;
