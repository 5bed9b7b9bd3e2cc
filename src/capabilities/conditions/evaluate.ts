/** Finds the conditions that a caller doesn't meet, and what its next login must have. No side effects. */
import type { KnownCaller } from "../../core/policy/condition-language.ts";
import type {
  AmbiguousBinding,
  ConditionCaller,
  ConditionName,
  ConditionReason,
} from "../../core/policy/conditions.ts";
import {
  createFacts,
  decideByRules,
  type Decision,
  type DecisionFacts,
  type Refused,
} from "../../core/policy/decision.ts";
import { findParameter } from "../../core/policy/parameters.ts";
import type { Restriction, Rule, RuleMatch } from "../../core/policy/rule.ts";
import { areSatisfied } from "../../core/policy/satisfaction.ts";
import { compact } from "../../core/runtime/compact.ts";
import { bindScope } from "../../core/scopes/required-scope.ts";
import { grantedScopesOf } from "../../core/scopes/scope-sets.ts";
import { NO_HIERARCHY } from "../../core/scopes/ceiling.ts";
import { GrantedScopes } from "../../core/scopes/granted-scopes.ts";
import type { Principal } from "../../core/token/principal.ts";
import { isClient } from "./clients.ts";
import { toAlsoMatch } from "./restrictions.ts";

/** In the order in which conditions are checked. */
const REASONS: readonly ConditionReason[] = [
  "proof_missing",
  "caller_not_allowed",
  "authentication_insufficient",
];

/** Decides by the scopes of the rules that match, and by restrictions. */
export function decideByConditions(
  matches: readonly RuleMatch[],
  restrictions: readonly Restriction[],
  caller: KnownCaller,
): Decision {
  const { principal, scopeRules } = caller;
  const byScopes = decideByRules([...matches, ...restrictions.map(toAlsoMatch)], principal, scopeRules);
  const restricting = restrictions.map(({ compiled }) => compiled.rule);
  const rules = Object.freeze([...new Set([...byScopes.rules, ...restricting])]);
  const unmet = findUnmet(restrictions, caller);
  // A token without the proof of its key is refused like any invalid token: before its scopes.
  if (unmet && (byScopes.allowed || unmet.first.reason === "proof_missing"))
    return refuseByCondition(unmet, rules, byScopes, principal);
  // A scope can be in the deciding rule, and in the `also` of several rules.
  const satisfied = Object.freeze([
    ...new Map(byScopes.satisfied.map((satisfaction) => [satisfaction.required, satisfaction])).values(),
  ]);
  return Object.freeze({ ...byScopes, rules, satisfied });
}

/** Returns whether a caller meets all conditions, `also` included. */
export const areConditionsMet = (restrictions: readonly Restriction[], caller: KnownCaller): boolean =>
  areSatisfied(restrictions.map(toAlsoMatch), caller.principal, caller.scopeRules) &&
  findUnmet(restrictions, caller) === undefined;

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
interface UnmetCondition {
  readonly rule: Rule;
  readonly name: ConditionName;
  readonly reason: ConditionReason;
}

/** Why a caller may not call: the first condition that it doesn't meet, and what a new login must have. */
interface UnmetConditions {
  readonly first: UnmetCondition;
  /** The values of `acr` that satisfy every rule. */
  readonly acrValues: readonly string[] | undefined;
  /** The smallest age of the login. */
  readonly maxAgeSeconds: number | undefined;
}

/** Finds the conditions that a caller doesn't meet; `undefined` if it meets all of them. */
function findUnmet(
  restrictions: readonly Restriction[],
  { principal, scopeRules, moment }: KnownCaller,
): UnmetConditions | undefined {
  const granted = grantedScopesOf(principal, scopeRules);
  const unmet: UnmetCondition[] = [];
  const ambiguous: PlacedBinding[] = [];
  for (const restriction of restrictions) {
    const { compiled, conditions, source, parameter, place } = restriction;
    const caller: ConditionCaller = { principal, parameter, moment };
    const { rule } = compiled;
    const isLifted = mayIgnore(restriction, granted);
    const mayCross = isLifted && mayCrossTenants(restriction, caller);
    for (const condition of conditions.all) {
      // Who may cross tenants still logs in as strongly as everyone else.
      const isIgnored = condition.readsTenant ? mayCross : isLifted;
      if (isIgnored && condition.reason === "caller_not_allowed") continue;
      if (!condition.isMet(caller)) unmet.push({ rule, name: condition.name, reason: condition.reason });
      for (const binding of condition.findAmbiguous?.(caller) ?? []) {
        const position = (source && findParameter(source, binding.parameter)?.index) ?? binding.parameter;
        ambiguous.push({ ...binding, rule, place, position });
      }
    }
  }
  const combined = findCombined(ambiguous);
  if (combined) unmet.push({ rule: combined.rule, name: "where", reason: "caller_not_allowed" });
  const [first] = REASONS.flatMap((reason) => unmet.filter((condition) => condition.reason === reason));
  if (!first) return undefined;
  const all = restrictions.flatMap(({ conditions }) => conditions.all);
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
  bindings.find((binding) => bindings.some((other) => areTwoChoices(binding, other)));

/** Returns whether a request makes two choices from claims with several values, instead of one. */
function areTwoChoices(first: PlacedBinding, second: PlacedBinding): boolean {
  const isOneClaim = first.claim === second.claim;
  // Each path of a batch may have another tenant.
  if (first.place !== second.place) return !isOneClaim;
  // Rules may name one parameter differently, so its position in the path identifies it.
  return first.value !== second.value || (first.position !== second.position && !isOneClaim);
}

/** RFC 9068 section 2.2: without a user, `sub` is the client. */
const hasUser = ({ userId, claims }: Principal): boolean =>
  userId !== undefined && userId !== "" && !isClient(userId, claims);

/** The admin scope implies every scope, but lets a caller ignore conditions only if `unless` names it. */
function mayIgnore({ unless, parameter }: Restriction, granted: GrantedScopes): boolean {
  if (unless.length === 0) return false;
  return unless.every((scope) => {
    const { covering, text } = bindScope(scope, parameter);
    const satisfaction = granted.find(covering, text);
    // If `unless` names the admin scope, an admin has this scope itself.
    return satisfaction !== undefined && satisfaction.by !== "admin";
  });
}

/** An issuer with a tenant may only grant its callers to leave the tenant if its own `scopes` say so. */
function mayCrossTenants(
  { unless, parameter }: Restriction,
  { principal, moment }: ConditionCaller,
): boolean {
  if (!Object.hasOwn(principal, "tenant")) return true;
  const ceiling = new GrantedScopes(moment.ceiling ?? [], NO_HIERARCHY);
  return unless.every((scope) => ceiling.covers(bindScope(scope, parameter).covering));
}

function intersectionOf(lists: readonly (readonly string[])[]): readonly string[] | undefined {
  const [first, ...others] = lists;
  return first?.filter((value) => others.every((list) => list.includes(value)));
}

const minimumOf = (numbers: readonly number[]): number | undefined =>
  numbers.length === 0 ? undefined : Math.min(...numbers);
