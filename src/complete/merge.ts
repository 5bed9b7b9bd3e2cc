import { ConfigurationError, type ConfigurationIssue } from "../core/errors.ts";
import { OPERATION_METHOD } from "../core/request.ts";
import { compileRules, entryOf } from "../core/policy/compile-rules.ts";
import { ANY_METHODS } from "../core/policy/operation-methods.ts";
import { checkOverrides } from "../core/policy/overrides.ts";
import { renderPattern } from "../core/policy/render-pattern.ts";
import { type CompiledRule, optionPath } from "../core/policy/rule.ts";
import type { ScopeMappings } from "../core/policy/table-entry.ts";
import { resolveScopeRules } from "../core/scopes/scope-rules.ts";
import { DEFAULTS } from "../core/options/defaults.ts";
import { findShapeMistakes } from "../core/options/schema.ts";

/**
 * Merges tables into one, each layer over the ones before it, as `scopeMappings` are merged over
 * `defaultScopeMappings`: a rule replaces the rule for the same route, and needs `{ override }` if it
 * requires less. The comparison uses the default admin scope and no `impliedScopes`. It checks each layer,
 * but not the order of the rules, which `createResourceServer` checks.
 *
 * @throws ConfigurationError that lists every mistake in a layer
 * @example
 * ```ts
 * import { agentScopeMappings, mergeScopeMappings } from "scopegate/complete";
 *
 * const shared = mergeScopeMappings(agentScopeMappings, { "GET /health": "public" });
 * const scopeMappings = mergeScopeMappings(shared, { "GET /agents": { override: [] } });
 * console.log(Object.keys(scopeMappings).length);
 * ```
 */
export const mergeScopeMappings = (base: ScopeMappings, ...more: readonly ScopeMappings[]): ScopeMappings =>
  more.reduce(mergeLayer, base);

function mergeLayer(base: ScopeMappings, layer: ScopeMappings): ScopeMappings {
  const issues = findShapeMistakes({ defaultScopeMappings: base, scopeMappings: layer }).map(
    ({ issue }) => issue,
  );
  if (issues.length > 0) throw new ConfigurationError(issues);
  const report = (issue: ConfigurationIssue) => void issues.push(issue);
  const table = compileRules(base, layer, report, { methods: ANY_METHODS });
  checkOverrides(table, resolveScopeRules(DEFAULTS.adminScope, {}, report), report);
  for (const { custom } of table.replacements)
    if (custom.isReport && !custom.beside)
      report({
        code: "override_partial",
        path: optionPath(custom.rule),
        message: "is only reported, and the merged table wouldn't have the rule that stays enforced.",
        hint: "Write what stays enforced next to it: { scopes: [...], report: [...] }.",
      });
  if (issues.length > 0) throw new ConfigurationError(issues);
  return Object.freeze(Object.fromEntries(table.rules.flatMap(entriesOf)));
}

/** Returns one entry, or one for each path that a later layer doesn't replace. */
function entriesOf(compiled: CompiledRule): readonly (readonly [string, ReturnType<typeof entryOf>])[] {
  const { rule, pattern, isPart } = compiled;
  const keys =
    rule.method === OPERATION_METHOD || !isPart
      ? [rule.key]
      : pattern.alternatives.map((alternative) => `${rule.method} ${renderPattern(alternative)}`);
  return keys.map((key) => [key, entryOf(compiled)]);
}
