import type { CompiledRequirement } from "../../core/policy/requirement.ts";

/** Returns how much a requirement demands. Two requirements of one class may name different scopes. */
export function classOf(requirement: CompiledRequirement): "nothing" | "token" | "scopes" {
  if (requirement.kind === "public" || requirement.kind === "optional") return "nothing";
  return requirement.scopes.length === 0 ? "token" : "scopes";
}
