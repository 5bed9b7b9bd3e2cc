import { type Rejection } from "../errors.ts";
import { grantedScopesOf, type Principal } from "../token/principal.ts";
import { type GrantedScopes, type Satisfaction, type ScopeRules } from "../scopes/scope.ts";
import { bindScope, type RequiredScope } from "../scopes/required-scope.ts";
import { type CompiledRequirement } from "./requirement.ts";
import { type Rule, type RuleMatch } from "./rule.ts";

/** Why a request was refused; stable, one status each. */
export type RefusalReason =
  | "request_ambiguous"
  | "credential_missing"
  | "credential_malformed"
  | "token_rejected"
  | "scope_insufficient"
  | "route_unmapped"
  | "keys_unavailable";

/** What every decision tells of how it came about. */
export interface DecisionFacts {
  /** The rule that decided; absent where the table had none, or the path was not read. */
  readonly rule?: Rule;
  /** The caller; absent where no token was looked at or accepted. Of a revoked token: whom it spoke for. */
  readonly principal?: Principal;
  /** The scopes asked for, route parameters filled in; of `anyOf` each of the alternatives. */
  readonly required: readonly string[];
  /** The scopes of the token, as it lists them. */
  readonly granted: readonly string[];
  /** The required scopes that nothing granted covers. Of an `anyOf` that was met: none. */
  readonly missing: readonly string[];
  /** Which granted scope satisfied which required one, and how. */
  readonly satisfied: readonly Satisfaction[];
}

/** A request that may go on. */
export interface Allowed extends DecisionFacts {
  /** The request may go on. */
  readonly allowed: true;
}

/** A request that may not go on, and why. */
export interface Refused extends DecisionFacts {
  /** The request is answered by `server.refuse(decision)`. */
  readonly allowed: false;
  /** Why; it decides the status of the answer. */
  readonly reason: RefusalReason;
  /** What was wrong with the token, when the reason is `token_rejected`. */
  readonly rejection?: Rejection;
  /** The claim that is missing or wrong, when the rejection is `claims`. For the operator's log; it is never rendered. */
  readonly claim?: string;
  /** What failed behind `keys_unavailable`. For the operator's log; it is never rendered. */
  readonly cause?: unknown;
}

/** The one answer that adapters, logs, hooks, tests and `explain` share. A refusal is a value, never an exception. */
export type Decision = Allowed | Refused;

const NOTHING: readonly never[] = Object.freeze([]);

// No decision begins with a spread: an object that does and then grows is thirty times slower to make.

/** A refusal for a reason that scopes have no part in; `route` is what is known of the route. */
export function refuse(
  reason: RefusalReason,
  facts: Pick<Refused, "rule" | "principal" | "rejection" | "claim" | "cause"> = {},
  route: Pick<Refused, "rule"> = {},
): Refused {
  return Object.freeze({
    required: NOTHING,
    granted: facts.principal?.scopes ?? NOTHING,
    missing: NOTHING,
    satisfied: NOTHING,
    ...facts,
    ...route,
    allowed: false,
    reason,
  });
}

/** An answer that needs no scope of the caller. */
export function allow(facts: Pick<Allowed, "rule" | "principal"> = {}): Allowed {
  return Object.freeze({
    required: NOTHING,
    granted: facts.principal?.scopes ?? NOTHING,
    missing: NOTHING,
    satisfied: NOTHING,
    ...facts,
    allowed: true,
  });
}

/** Whether the scopes of a principal meet what a rule asks. */
export function decideByScopes(match: RuleMatch, principal: Principal, rules: ScopeRules): Decision {
  const { rule, requirement } = match.compiled;
  const granted = grantedScopesOf(principal, rules);
  switch (requirement.kind) {
    case "public":
    case "optional":
      return allow({ rule, principal });
    case "allOf":
    case "anyOf": {
      const parameter = (name: string) => match.parameter(name);
      return weigh(requirement, parameter, granted, { rule, principal });
    }
    case "filtered": {
      const { resource, action, scope } = requirement;
      const satisfaction = granted.findSome(resource, action, scope.text);
      return conclude([scope.text], satisfaction ? [satisfaction] : [], satisfaction !== undefined, {
        rule,
        principal,
      });
    }
  }
}

/** What several rules of one request decide together: all must be met, and a refusal tells the scopes of all. */
export function combine(decisions: readonly [Decision, ...Decision[]]): Decision {
  const [first] = decisions;
  if (decisions.length === 1) return first;
  const refused = decisions.find((decision) => !decision.allowed);
  if (!refused) return first;
  const union = (read: (decision: Decision) => readonly string[]) =>
    Object.freeze([...new Set(decisions.flatMap(read))]);
  const satisfied = decisions.flatMap((decision) => decision.satisfied);
  return Object.freeze({
    ...refused,
    required: union(({ required }) => required),
    missing: union(({ missing }) => missing),
    satisfied: Object.freeze([...new Map(satisfied.map((one) => [one.required, one])).values()]),
  });
}

/** Whether a principal holds all of some scopes, for a check that stands in a route rather than in the table. */
export function decideByScopeList(
  scopes: readonly RequiredScope[],
  parameter: (name: string) => string,
  rules: ScopeRules,
  facts: Facts,
): Decision {
  return weigh({ kind: "allOf", scopes }, parameter, grantedScopesOf(facts.principal, rules), facts);
}

type ScopeRequirement = Extract<CompiledRequirement, { scopes: unknown }>;

type Facts = Required<Pick<DecisionFacts, "principal">> & Pick<DecisionFacts, "rule">;

function weigh(
  { kind, scopes }: ScopeRequirement,
  parameter: (name: string) => string,
  granted: GrantedScopes,
  facts: Facts,
): Decision {
  const required: string[] = [];
  const satisfied: Satisfaction[] = [];
  for (const scope of scopes) {
    const { parts, text } = bindScope(scope, parameter);
    const satisfaction = granted.find(parts, text);
    if (satisfaction) satisfied.push(satisfaction);
    required.push(text);
  }
  const isMet = kind === "allOf" ? satisfied.length === required.length : satisfied.length > 0;
  return conclude(required, satisfied, isMet, facts);
}

function conclude(
  required: readonly string[],
  satisfied: readonly Satisfaction[],
  isMet: boolean,
  facts: Facts,
): Decision {
  const missing = isMet
    ? NOTHING
    : Object.freeze(required.filter((text) => !satisfied.some((one) => one.required === text)));
  const { rule, principal } = facts;
  const { scopes: granted } = principal;
  Object.freeze(required);
  Object.freeze(satisfied);
  // Written out for what most requests are: a spread in an object that is made for each takes as long as all the rest of it.
  if (isMet && rule)
    return Object.freeze({ required, granted, missing, satisfied, rule, principal, allowed: true });
  return isMet
    ? Object.freeze({ required, granted, missing, satisfied, ...facts, allowed: true })
    : Object.freeze({
        required,
        granted,
        missing,
        satisfied,
        ...facts,
        allowed: false,
        reason: "scope_insufficient",
      });
}
