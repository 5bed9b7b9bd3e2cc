/** Decides whether granted scopes satisfy a requirement, and which of them do. */
import { bindScope, isCovered, type RequiredScope } from "../scopes/required-scope.ts";
import { type GrantedScopes, type Satisfaction, type ScopeRules } from "../scopes/scope.ts";
import { grantedScopesOf, type Principal } from "../token/principal.ts";
import { type CompiledRequirement, scopesOf } from "./requirement.ts";
import { type RuleMatch } from "./rule.ts";

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

/** Which scopes a requirement names in one request, and which granted scopes satisfy them. */
export interface RequirementResult {
  readonly required: readonly string[];
  readonly satisfied: readonly Satisfaction[];
  readonly isSatisfied: boolean;
}

/** Compares a requirement with granted scopes, and lists the result for a decision. */
export function describeSatisfaction(
  requirement: CompiledRequirement,
  parameter: RuleMatch["parameter"],
  granted: GrantedScopes,
): RequirementResult {
  const scopes = scopesOf(requirement).map((scope) => bindScope(scope, parameter));
  const satisfied = scopes.flatMap(
    ({ covering, text }) =>
      (requirement.kind === "filtered"
        ? granted.findSome(requirement.resource, requirement.action, text)
        : granted.find(covering, text)) ?? [],
  );
  const required = scopes.map(({ text }) => text);
  return { required, satisfied, isSatisfied: isSatisfied(requirement, parameter, granted) };
}
