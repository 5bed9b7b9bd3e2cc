/** Decides whether granted scopes satisfy a requirement, and which of them do. */
import { bindScope, isCovered, type RequiredScope } from "../scopes/required-scope.ts";
import type { GrantedScopes, Satisfaction, ScopeRules } from "../scopes/scope.ts";
import { grantedScopesOf } from "../scopes/scope-sets.ts";
import type { Principal } from "../token/principal.ts";
import type { CompiledRequirement } from "./requirement.ts";
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
    case "filtered":
      return granted.findSome(requirement.resource, requirement.action, "") !== undefined;
    case "allOf":
      return requirement.scopes.every(isGranted);
    case "anyOf":
      return requirement.scopes.some(isGranted);
  }
}

/** The scopes that a requirement names in one request, and the granted scopes that satisfy them. */
export interface RequirementResult {
  readonly required: readonly string[];
  readonly satisfied: readonly Satisfaction[];
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
  const add = (scope: string, satisfaction: Satisfaction | undefined): void => {
    required.push(scope);
    if (satisfaction) satisfied.push(satisfaction);
  };
  if (requirement.kind === "filtered") {
    const { resource, action, scope } = requirement;
    add(scope.text, granted.findSome(resource, action, scope.text));
  } else if ("scopes" in requirement) {
    for (const scope of requirement.scopes) {
      const { covering, text } = bindScope(scope, parameter);
      add(text, granted.find(covering, text));
    }
  }
  return { required, satisfied, isSatisfied: isSatisfied(requirement, parameter, granted) };
}
