import type { CompiledRequirement } from "../../core/policy/requirement.ts";

/** Returns how much a requirement demands. Two requirements of one class may name different scopes. */
export function classOf(requirement: CompiledRequirement): "nothing" | "token" | "scopes" {
  switch (requirement.kind) {
    case "public":
    case "optional":
      return "nothing";
    case "allOf":
      return requirement.scopes.length === 0 ? "token" : "scopes";
    case "anyOf":
      return "scopes";
  }
}
