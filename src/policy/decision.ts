import { type Rejection } from "../errors.ts";
import { bindParts, bindScope, type RequiredScope } from "../scopes/required-scope.ts";
import { type GrantedScopes, type Satisfaction, type ScopeRules } from "../scopes/scope.ts";
import { grantedScopesOf, type Principal } from "../token/principal.ts";
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

/** What every decision reports. */
export interface DecisionFacts {
  /** The rule that decided; absent where the table has none, or the path could not be read. */
  readonly rule?: Rule;
  /** Every rule that the request had to satisfy: that of its path, and that of the route that runs. */
  readonly rules: readonly Rule[];
  /** The caller; absent if no token was read or accepted. Of a revoked token, the caller it was issued to. */
  readonly principal?: Principal;
  /** The required scopes, with route parameters filled in; for `anyOf`, each of the alternatives. */
  readonly required: readonly string[];
  /** The scopes of the token, as the token lists them. */
  readonly granted: readonly string[];
  /** The required scopes that no granted scope covers. Empty for an `anyOf` that is satisfied. */
  readonly missing: readonly string[];
  /** Which granted scope satisfied which required scope, and how. */
  readonly satisfied: readonly Satisfaction[];
}

/** A request that may go on. */
export interface Allowed extends DecisionFacts {
  /** The request may go on. */
  readonly allowed: true;
}

/** A request that may not go on, and why. */
export interface Refused extends DecisionFacts {
  /** The request must be answered with `server.refuse(decision)`. */
  readonly allowed: false;
  /** Why; it decides the status of the response. */
  readonly reason: RefusalReason;
  /** What was wrong with the token, when the reason is `token_rejected`. */
  readonly rejection?: Rejection;
  /** The missing or wrong claim, when the rejection is `claims`. For logs; never part of the response. */
  readonly claim?: string;
  /** What failed behind `keys_unavailable`, or why a path is ambiguous. For logs; never in the response. */
  readonly cause?: unknown;
  /** The `Retry-After` of `keys_unavailable`: in how many seconds the keys are fetched again, at least 1. */
  readonly retryAfterSeconds?: number;
}

/** The result that adapters, logs, hooks, tests and `explain` share. A refusal is a value, never thrown. */
export type Decision = Allowed | Refused;

const NOTHING: readonly never[] = Object.freeze([]);

type Lists = Pick<DecisionFacts, "required" | "missing" | "satisfied">;

const NO_LISTS: Lists = { required: NOTHING, missing: NOTHING, satisfied: NOTHING };

const factsOf = (
  rules: readonly Rule[],
  principal?: Principal,
  { required, missing, satisfied } = NO_LISTS,
  rule = rules[0],
): DecisionFacts => ({
  ...(rule && { rule }),
  rules,
  ...(principal && { principal }),
  required: Object.freeze(required),
  granted: principal?.scopes ?? NOTHING,
  missing: Object.freeze(missing),
  satisfied: Object.freeze(satisfied),
});

type RefusalFacts = Pick<Refused, "principal" | "rejection" | "claim" | "cause" | "retryAfterSeconds">;

/** Refuses a request for a reason other than scopes. */
export const refuse = (
  reason: RefusalReason,
  rules: readonly Rule[] = NOTHING,
  facts: RefusalFacts = {},
): Refused => Object.freeze({ ...facts, allowed: false, reason, ...factsOf(rules, facts.principal) });

/** Allows a request whose rules require no scope. */
export const allow = (rules: readonly Rule[] = NOTHING, principal?: Principal): Allowed =>
  Object.freeze({ allowed: true, ...factsOf(rules, principal) });

/** Whether the scopes of a principal satisfy every rule. */
export function areSatisfied(
  matches: readonly RuleMatch[],
  principal: Principal,
  scopeRules: ScopeRules,
): boolean {
  const granted = grantedScopesOf(principal, scopeRules);
  return matches.every((match) => isMet(match.compiled.requirement, match, granted));
}

function isMet(
  requirement: CompiledRequirement,
  { parameter }: Pick<RuleMatch, "parameter">,
  granted: GrantedScopes,
): boolean {
  const isCovered = (scope: RequiredScope): boolean => granted.covers(bindParts(scope, parameter));
  switch (requirement.kind) {
    case "public":
    case "optional":
      return true;
    case "filtered":
      return granted.findSome(requirement.resource, requirement.action, "") !== undefined;
    case "allOf":
      return requirement.scopes.every(isCovered);
    case "anyOf":
      return requirement.scopes.some(isCovered);
  }
}

/** The decision by every rule for a known caller; a refusal names the scopes of all of them. */
export function decideByRules(
  matches: readonly RuleMatch[],
  principal: Principal,
  scopeRules: ScopeRules,
): Decision {
  const granted = grantedScopesOf(principal, scopeRules);
  const rules = rulesOf(matches);
  const weighed = matches.map((match) => weigh(match.compiled.requirement, match, granted));
  return decide(rules, principal, weighed);
}

/** The rules of matches, as a decision lists them. */
export function rulesOf(matches: readonly RuleMatch[]): readonly Rule[] {
  const [first, second] = matches;
  return first && !second
    ? first.compiled.asList
    : Object.freeze(matches.map(({ compiled }) => compiled.rule));
}

/** Whether a principal holds all of some scopes, for a check that one route adds to the table. */
export function decideByScopes(
  scopes: readonly RequiredScope[],
  parameter: (name: string) => string,
  scopeRules: ScopeRules,
  facts: { readonly rules: readonly Rule[]; readonly principal: Principal },
): Decision {
  const granted = grantedScopesOf(facts.principal, scopeRules);
  return decide(facts.rules, facts.principal, [weigh({ kind: "allOf", scopes }, { parameter }, granted)]);
}

/** What one requirement asked for and found. */
interface Weighed {
  readonly required: readonly string[];
  readonly satisfied: readonly Satisfaction[];
  readonly isMet: boolean;
}

function weigh(
  requirement: CompiledRequirement,
  match: Pick<RuleMatch, "parameter">,
  granted: GrantedScopes,
): Weighed {
  const weighed = { required: [] as string[], satisfied: [] as Satisfaction[] };
  const add = (required: string, found: Satisfaction | undefined): void => {
    weighed.required.push(required);
    if (found) weighed.satisfied.push(found);
  };
  if (requirement.kind === "filtered") {
    const { resource, action, scope } = requirement;
    add(scope.text, granted.findSome(resource, action, scope.text));
  } else if ("scopes" in requirement) {
    for (const { parts, text } of requirement.scopes.map((scope) => bindScope(scope, match.parameter)))
      add(text, granted.find(parts, text));
  }
  return { ...weighed, isMet: isMet(requirement, match, granted) };
}

function decide(rules: readonly Rule[], principal: Principal, weighed: readonly Weighed[]): Decision {
  const required = unique(weighed.flatMap((one) => one.required));
  const satisfied = weighed.flatMap((one) => one.satisfied);
  const failed = weighed.findIndex(({ isMet }) => !isMet);
  if (failed < 0)
    return Object.freeze({
      allowed: true,
      ...factsOf(rules, principal, { required, missing: NOTHING, satisfied }),
    });
  const missing = weighed.flatMap((one) =>
    one.isMet ? [] : one.required.filter((scope) => !one.satisfied.some((by) => by.required === scope)),
  );
  const lists = { required, missing: unique(missing), satisfied };
  const facts = factsOf(rules, principal, lists, rules[failed]);
  return Object.freeze({ allowed: false, reason: "scope_insufficient", ...facts });
}

const unique = (list: readonly string[]): readonly string[] => [...new Set(list)];
