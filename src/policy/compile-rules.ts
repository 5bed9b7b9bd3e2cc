import { type Report } from "../errors.ts";
import { patternIdentity } from "./pattern.ts";
import { compileRequirement, type Requirement, type ScopeMappings } from "./requirement.ts";
import { parseRouteKey } from "./route-key.ts";
import { type CompiledRule, type RuleSource } from "./rule.ts";

/**
 * Compiles the default and the custom table to one. A custom rule for the route of a default rule takes its place;
 * parameter names do not make a route another one.
 */
export function compileRules(
  defaults: ScopeMappings,
  customs: ScopeMappings,
  report: Report,
): readonly CompiledRule[] {
  const rules = new Map(compileTable("defaultScopeMappings", defaults, "default", report));
  for (const [identity, compiled] of compileTable("scopeMappings", customs, "custom", report)) {
    const isOverride = rules.has(identity);
    rules.set(identity, isOverride ? withSource(compiled, "override") : compiled);
  }
  reportLookalikes(rules, report);
  return [...rules.values()];
}

function compileTable(
  option: "defaultScopeMappings" | "scopeMappings",
  mappings: ScopeMappings,
  source: RuleSource,
  report: Report,
): ReadonlyMap<string, CompiledRule> {
  const rules = new Map<string, CompiledRule>();
  for (const [key, requirement] of Object.entries(mappings)) {
    const path = [option, key];
    const route = parseRouteKey(key, path, report);
    const compiled = route && compileRequirement(requirement, route.pattern.parameters, path, report);
    if (!compiled) continue;
    const { method, pattern } = route;
    const rule = Object.freeze({
      key,
      method,
      pattern: pattern.source,
      requirement: freeze(requirement),
      source,
    });
    const identity = `${method} ${patternIdentity(pattern)}`;
    const twin = rules.get(identity);
    if (twin) {
      report({
        code: "route_duplicate",
        path,
        message: `is the same route as \`${twin.rule.key}\`.`,
        hint: "Keep one of the two: parameter names do not tell routes apart.",
      });
    }
    rules.set(identity, { rule, pattern, requirement: compiled });
  }
  return rules;
}

/**
 * Routes that differ in letter case or a trailing slash only are one route to Express and Koa: whichever rule the
 * guard took, the other one's handler might run. They must ask for the same.
 */
function reportLookalikes(rules: ReadonlyMap<string, CompiledRule>, report: Report): void {
  const seen = new Map<string, CompiledRule>();
  for (const [identity, compiled] of rules) {
    const folded = identity.toLowerCase().replaceAll(/\/(?= |$)/g, "");
    const twin = seen.get(folded);
    if (twin && JSON.stringify(twin.rule.requirement) !== JSON.stringify(compiled.rule.requirement)) {
      report({
        code: "route_ambiguous",
        path: [
          compiled.rule.source === "default" ? "defaultScopeMappings" : "scopeMappings",
          compiled.rule.key,
        ],
        message: `differs from \`${twin.rule.key}\` only in letter case or a trailing slash, and asks for something else.`,
        hint: "Many routers take the two for one route: write the key as the other one is written, or ask for the same.",
      });
    }
    seen.set(folded, twin ?? compiled);
  }
}

const withSource = (compiled: CompiledRule, source: RuleSource): CompiledRule => ({
  ...compiled,
  rule: Object.freeze({ ...compiled.rule, source }),
});

/** The table of a running server does not change when its options object does. */
function freeze(requirement: Requirement): Requirement {
  if (typeof requirement === "string") return requirement;
  if ("filtered" in requirement) return Object.freeze({ filtered: requirement.filtered });
  if ("anyOf" in requirement) return Object.freeze({ anyOf: Object.freeze([...requirement.anyOf]) });
  return Object.freeze([...requirement]);
}
