/** What a rule requires, in words, for messages and tools. */
import type { Requirement } from "./requirement.ts";
import type { CompiledRule } from "./rule.ts";

/** Describes what a rule requires, with the scopes of one request if they are known. */
export function describeRequirement(requirement: Requirement, required: readonly string[] = []): string {
  if (requirement === "public") return "nothing";
  if (requirement === "optional") return "no token, or a valid one";
  const written = "anyOf" in requirement ? requirement.anyOf : requirement;
  if (written.length === 0) return "a valid token";
  // The scopes of a request say nothing of `<any>`.
  const isComplete = required.length > 0 && !written.some((scope) => scope.includes(":<any>:"));
  return `${"anyOf" in requirement ? "one of " : ""}${joinScopes(isComplete ? required : written)}`;
}

/** Describes what a rule requires, with its conditions. */
export const describeRule = ({ rule, conditions }: Pick<CompiledRule, "rule" | "conditions">): string =>
  [describeRequirement(rule.requirement), ...(conditions?.described ?? [])].join("; ");

/** Lists scopes; `-` for none. */
export const joinScopes = (scopes: readonly string[]): string =>
  scopes.length === 0 ? "-" : scopes.join(" ");
