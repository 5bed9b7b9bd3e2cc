/** Decides whether granted scopes satisfy a requirement, and which of them do. */
import { bindScope, isCovered, type RequiredScope } from "../scopes/required-scope.ts";
import type { GrantedScopes, Satisfaction, ScopeRules } from "../scopes/granted-scopes.ts";
import { grantedScopesOf } from "../scopes/scope-sets.ts";
import type { Principal } from "../token/principal.ts";
import { type CompiledRequirement, scopesOf } from "./requirement.ts";
import type { RuleMatch } from "./rule.ts";

/** Returns whether the scopes of a principal satisfy every rule. */
export function areSatisfied(
  matches: readonly RuleMatch[],
  principal: Principal,
  scopeRules: ScopeRules,
): boolean {
  const granted = grantedScopesOf(principal, scopeRules);
  return matches.every(({ compiled, parameter }) => isSatisfied(compiled.requirement, parameter, granted));
}

/** Returns whether granted scopes satisfy one requirement. */
export function isSatisfied(
  requirement: CompiledRequirement,
  parameter: RuleMatch["parameter"],
  granted: GrantedScopes,
): boolean {
  const isGranted = (scope: RequiredScope): boolean => isCovered(scope, parameter, granted);
  switch (requirement.kind) {
    case "public":
    case "optional":
      return true;
    case "allOf":
      return requirement.scopes.every(isGranted);
    case "anyOf":
      return requirement.scopes.some(isGranted);
  }
}

/** The scopes that a requirement names in one request, those that satisfy them, and those that none does. */
export interface RequirementResult {
  readonly required: readonly string[];
  readonly satisfied: readonly Satisfaction[];
  readonly missing: readonly string[];
  readonly isSatisfied: boolean;
}

/** Compares a requirement with granted scopes, and returns the details for a decision. */
export function describeSatisfaction(
  requirement: CompiledRequirement,
  parameter: RuleMatch["parameter"],
  granted: GrantedScopes,
): RequirementResult {
  const required: string[] = [];
  const satisfied: Satisfaction[] = [];
  const missing: string[] = [];
  for (const scope of scopesOf(requirement)) {
    const { covering, text } = bindScope(scope, parameter);
    const satisfaction = granted.find(covering, text);
    required.push(text);
    if (satisfaction) satisfied.push(satisfaction);
    else missing.push(text);
  }
  return { required, satisfied, missing, isSatisfied: isSatisfied(requirement, parameter, granted) };
}
