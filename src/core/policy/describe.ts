/** What a rule requires, in words, for messages and tools. */
import { describeConditions } from "./conditions/conditions.ts";
import type { Requirement } from "./requirement.ts";
import type { Rule } from "./rule.ts";

/** Describes what a rule requires, with the scopes of one request if they are known. */
export function describeRequirement(requirement: Requirement, required: readonly string[] = []): string {
  if (requirement === "public") return "nothing";
  if (requirement === "optional") return "no token, or a valid one";
  if ("filtered" in requirement) return `${requirement.filtered}, for all ids or at least one`;
  if ("anyOf" in requirement)
    return `one of ${joinScopes(required.length > 0 ? required : requirement.anyOf)}`;
  if (requirement.length === 0) return "a valid token";
  return joinScopes(required.length > 0 ? required : requirement);
}

/** Describes what a rule requires, with its conditions. */
export const describeRule = ({ requirement, conditions }: Pick<Rule, "requirement" | "conditions">): string =>
  [describeRequirement(requirement), ...describeConditions(conditions)].join("; ");

/** Lists scopes; `-` for none. */
export const joinScopes = (scopes: readonly string[]): string =>
  scopes.length === 0 ? "-" : scopes.join(" ");
