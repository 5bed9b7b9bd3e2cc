import { agentScopeMappings } from "../../core/policy/agent-scope-mappings.ts";
import type { PolicyRules } from "../../core/policy/policy.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";

const INTERFACE: ReadonlyMap<string, string> = new Map(
  Object.entries(agentScopeMappings).map(([key, requirement]) => [key, JSON.stringify(requirement)]),
);

/** Names what a file without `default_scope_mappings` adds to its own rules, in one line. */
export function describeBaseTable({
  rules,
  scopeRules,
}: Pick<PolicyRules, "rules" | "scopeRules">): string | undefined {
  const base = rules.filter(({ rule }) => rule.source === "default");
  const isInterface = ({ rule: { key, requirement } }: CompiledRule) =>
    INTERFACE.get(key) === JSON.stringify(requirement);
  if (base.length === 0 || !base.every(isInterface)) return undefined;
  const added = `${base.length} rule${base.length === 1 ? "" : "s"}`;
  const all =
    scopeRules.adminScope === "platform:admin" ? `${added} and the admin scope platform:admin` : added;
  return `${all} come from the base table of the interface (\`agentScopeMappings\`). To leave them out, write "default_scope_mappings": {} in the file, or omit \`defaultScopeMappings\` in code.`;
}
