/** Decides whether granted scopes satisfy a requirement, and which of them do. */
import { bindScope, isCovered, type RequiredScope } from "../scopes/required-scope.ts";
import { type GrantedScopes, type Satisfaction, type ScopeRules } from "../scopes/scope.ts";
import { grantedScopesOf, type Principal } from "../token/principal.ts";
import { type CompiledRequirement } from "./requirement.ts";
import { type RuleMatch } from "./rule.ts";

/** Returns whether the scopes of a principal satisfy every rule. */
export function areSatisfied(
  matches: readonly RuleMatch[],
  principal: Principal,
  scopeRules: ScopeRules,
): boolean {
  const granted = grantedScopesOf(principal, scopeRules);
  return matches.every((match) => isMet(match.compiled.requirement, match, granted));
}

/** Returns whether granted scopes satisfy one requirement. */
export function isMet(
  requirement: CompiledRequirement,
  { parameter }: Pick<RuleMatch, "parameter">,
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

/** The result for one requirement. */
export interface Weighed {
  readonly required: readonly string[];
  readonly satisfied: readonly Satisfaction[];
  readonly isMet: boolean;
}

export function weigh(
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
    for (const { covering, text } of requirement.scopes.map((scope) => bindScope(scope, match.parameter)))
      add(text, granted.find(covering, text));
  }
  return { ...weighed, isMet: isMet(requirement, match, granted) };
}
