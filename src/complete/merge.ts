import { ConfigurationError, type ConfigurationIssue } from "../core/errors.ts";
import { OPERATION_METHOD } from "../core/request.ts";
import { compileRules, entryOf } from "../core/policy/compile-rules.ts";
import { ANY_LANGUAGE } from "../capabilities/mcp-operations/language.ts";
import { checkOverrides } from "../core/policy/overrides.ts";
import { renderPattern } from "../core/policy/render-pattern.ts";
import type { CompiledRule } from "../core/policy/rule.ts";
import type { ScopeMappings } from "../core/policy/scope-mappings.ts";
import { CONDITION_LANGUAGE } from "../capabilities/conditions/language.ts";
import { findShapeMistakes } from "../core/options/schema.ts";

/**
 * Merges tables into one, each layer over the ones before it, as `scopeMappings` are merged over
 * `defaultScopeMappings`: a rule replaces the rule for the same route, whatever it requires. It checks each
 * layer, but not the order of the rules, which `createResourceServer` checks.
 *
 * @throws ConfigurationError that lists every mistake in a layer
 * @example
 * ```ts
 * import { agentScopeMappings, mergeScopeMappings } from "scopegate/complete";
 *
 * const shared = mergeScopeMappings(agentScopeMappings, { "GET /health": "public" });
 * const scopeMappings = mergeScopeMappings(shared, { "GET /agents": ["agents:list"] });
 * console.log(Object.keys(scopeMappings).length);
 * ```
 */
export const mergeScopeMappings = (base: ScopeMappings, ...more: readonly ScopeMappings[]): ScopeMappings =>
  more.reduce(mergeLayer, base);

function mergeLayer(base: ScopeMappings, layer: ScopeMappings): ScopeMappings {
  const issues = [...findShapeMistakes({ defaultScopeMappings: base, scopeMappings: layer })];
  if (issues.length > 0) throw new ConfigurationError(issues);
  const report = (issue: ConfigurationIssue) => void issues.push(issue);
  const table = compileRules(base, layer, report, { language: ANY_LANGUAGE, conditions: CONDITION_LANGUAGE });
  checkOverrides(table, report);
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
