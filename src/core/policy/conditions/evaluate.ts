/** Finds the conditions that a caller doesn't meet, and what its next login must have. No side effects. */
import { compact } from "../../runtime/compact.ts";
import { bindScope } from "../../scopes/required-scope.ts";
import { grantedScopesOf } from "../../scopes/scope-sets.ts";
import type { GrantedScopes, ScopeRules } from "../../scopes/scope.ts";
import { isClient } from "../../token/clients.ts";
import type { Principal } from "../../token/principal.ts";
import { createFacts, type Decision, type DecisionFacts, type Refused, report } from "../decision.ts";
import { findParameter } from "../parameters.ts";
import type { Restriction, Rule } from "../rule.ts";
import {
  type AmbiguousBinding,
  CONDITION_REASONS,
  type ConditionCaller,
  type ConditionName,
  type ConditionReason,
  type Moment,
} from "./condition.ts";

/** A known caller, and when it calls. */
export interface KnownCaller {
  readonly principal: Principal;
  readonly scopeRules: ScopeRules;
  readonly moment: Moment;
}

/** Applies conditions to a decision by scopes. */
export function decideByConditions(
  byScopes: Decision,
  restrictions: readonly Restriction[],
  caller: KnownCaller,
): Decision {
  const { principal } = caller;
  const restricting = restrictions.map(({ compiled }) => compiled.rule);
  const rules = Object.freeze([...new Set([...byScopes.rules, ...restricting])]);
  if (!byScopes.allowed) return Object.freeze({ ...byScopes, rules });
  const enforced = restrictions.filter(({ compiled }) => compiled.rule.enforcement === "enforce");
  const unmet = findUnmet(enforced, caller);
  if (unmet) return refuseByCondition(unmet, rules, byScopes, principal);
  // The remaining unmet conditions are those of report-only rules.
  const reported = byScopes.reported ? undefined : findUnmet(restrictions, caller);
  if (reported) return report(refuseByCondition(reported, rules, byScopes, principal), principal);
  return Object.freeze({ ...byScopes, rules });
}

function refuseByCondition(
  { first, acrValues, maxAgeSeconds }: UnmetConditions,
  rules: readonly Rule[],
  { required, satisfied }: DecisionFacts,
  principal: Principal,
): Refused {
  const { rule, name: condition, reason } = first;
  const facts = createFacts(rules, principal, { required, missing: [], satisfied }, rule);
  if (reason !== "authentication_insufficient")
    return Object.freeze({ ...facts, allowed: false, reason, condition });
  const needed = compact({ acrValues: acrValues && Object.freeze(acrValues), maxAgeSeconds });
  return Object.freeze({ ...facts, ...needed, allowed: false, reason, condition });
}

/** A condition that a caller doesn't meet. */
export interface UnmetCondition {
  readonly rule: Rule;
  readonly name: ConditionName;
  readonly reason: ConditionReason;
}

/** Why a caller may not call: the first condition that it doesn't meet, and what a new login must have. */
export interface UnmetConditions {
  readonly first: UnmetCondition;
  /** The values of `acr` that satisfy every rule. */
  readonly acrValues: readonly string[] | undefined;
  /** The smallest age of the login. */
  readonly maxAgeSeconds: number | undefined;
}

/** Finds the conditions that a caller doesn't meet; `undefined` if it meets all of them. */
export function findUnmet(
  restrictions: readonly Restriction[],
  { principal, scopeRules, moment }: KnownCaller,
): UnmetConditions | undefined {
  const granted = grantedScopesOf(principal, scopeRules);
  const held = restrictions.filter((restriction) => !mayIgnore(restriction, granted));
  const unmet: UnmetCondition[] = [];
  const ambiguous: PlacedBinding[] = [];
  for (const { compiled, conditions, source, parameter, place } of held) {
    const caller: ConditionCaller = { principal, parameter, moment };
    const { rule } = compiled;
    for (const condition of conditions.all) {
      if (!condition.isMet(caller)) unmet.push({ rule, name: condition.name, reason: condition.reason });
      for (const binding of condition.findAmbiguous?.(caller) ?? []) {
        const position = (source && findParameter(source, binding.parameter)?.index) ?? binding.parameter;
        ambiguous.push({ ...binding, rule, place, position });
      }
    }
  }
  const combined = findCombined(ambiguous);
  if (combined) unmet.push({ rule: combined.rule, name: "where", reason: "caller_not_allowed" });
  const [first] = CONDITION_REASONS.flatMap((reason) =>
    unmet.filter((condition) => condition.reason === reason),
  );
  if (!first) return undefined;
  const all = held.flatMap(({ conditions }) => conditions.all);
  return {
    // Without a user, no one can log in again.
    first:
      first.reason === "authentication_insufficient" && !hasUser(principal)
        ? { ...first, reason: "caller_not_allowed" }
        : first,
    acrValues: intersectionOf(all.flatMap(({ acrValues }) => (acrValues ? [acrValues] : []))),
    maxAgeSeconds: minimumOf(all.flatMap(({ maxAgeSeconds }) => maxAgeSeconds ?? [])),
  };
}

interface PlacedBinding extends AmbiguousBinding {
  readonly rule: Rule;
  readonly place: object;
  readonly position: string | number;
}

/**
 * Finds a second parameter that is one of several values: with the tenants [a, b] and the teams [x, y], it
 * isn't known that team y belongs to tenant a.
 */
const findCombined = (bindings: readonly PlacedBinding[]): PlacedBinding | undefined =>
  bindings.find((binding) => bindings.some((other) => areSeparate(binding, other)));

/**
 * Returns whether two bindings choose a value of a claim separately. Rules may write one parameter in
 * different words, so its position in the path identifies it. Each path of a batch may have another tenant.
 */
const areSeparate = (first: PlacedBinding, second: PlacedBinding): boolean => {
  if (first.place !== second.place) return first.claim !== second.claim;
  return first.value !== second.value || (first.position !== second.position && first.claim !== second.claim);
};

/** RFC 9068 section 2.2: without a user, `sub` is the client. */
const hasUser = ({ userId, claims }: Principal): boolean =>
  userId !== undefined && userId !== "" && !isClient(userId, claims);

/** The admin scope implies every scope, but lets a caller ignore conditions only if `unless` names it. */
function mayIgnore({ conditions, parameter }: Restriction, granted: GrantedScopes): boolean {
  if (conditions.unless.length === 0) return false;
  return conditions.unless.every((scope) => {
    const { covering, text } = bindScope(scope, parameter);
    const satisfaction = granted.find(covering, text);
    // If `unless` names the admin scope, an admin has this scope itself.
    return satisfaction !== undefined && satisfaction.by !== "admin";
  });
}

function intersectionOf(lists: readonly (readonly string[])[]): readonly string[] | undefined {
  const [first, ...others] = lists;
  return first?.filter((value) => others.every((list) => list.includes(value)));
}

const minimumOf = (numbers: readonly number[]): number | undefined =>
  numbers.length === 0 ? undefined : Math.min(...numbers);
