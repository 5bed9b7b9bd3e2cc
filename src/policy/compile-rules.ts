import { type Report } from "../errors.ts";
import { identityOf, type Alternative } from "./pattern.ts";
import { compileRequirement, type Requirement, type ScopeMappings } from "./requirement.ts";
import { parseRouteKey } from "./route-key.ts";
import { type CompiledRule, type Rule, type RuleSource } from "./rule.ts";
import { RuleTree } from "./rule-tree.ts";

/** The rules of a table, and the tree that finds them. */
export interface CompiledTable {
  readonly rules: readonly CompiledRule[];
  readonly tree: RuleTree;
}

/** Each route of a table, by its identity; a rule with optional groups has several. */
type Routes = Map<string, CompiledRule>;

type Option = "defaultScopeMappings" | "scopeMappings";

/**
 * Compiles the default and the custom table into one. A custom rule replaces a default rule for each route
 * that they have in common. Parameter names, letter case and a trailing slash do not make another route.
 */
export function compileRules(defaults: ScopeMappings, customs: ScopeMappings, report: Report): CompiledTable {
  const base = compileTable("defaultScopeMappings", defaults, "default", report);
  const added = compileTable("scopeMappings", customs, "custom", report);
  const replaced = new Set([...added].filter(([route]) => base.has(route)).map(([, rule]) => rule));
  const custom = [...new Set(added.values())].map((rule) => (replaced.has(rule) ? asOverride(rule) : rule));
  const kept = [...new Set(base.values())].flatMap((rule) => without(rule, added));
  const rules = [...kept, ...custom];
  return { rules, tree: growTree(rules, report) };
}

function compileTable(option: Option, mappings: ScopeMappings, source: RuleSource, report: Report): Routes {
  const routes: Routes = new Map();
  for (const [key, requirement] of Object.entries(mappings)) {
    const path = [option, key];
    const route = parseRouteKey(key, path, report);
    const compiled = route && compileRequirement(requirement, route.pattern.parameters, path, report);
    if (!compiled) continue;
    const { method, pattern } = route;
    const own = { key, method, pattern: pattern.source, requirement: freeze(requirement), source };
    const rule = { ...describe(own), pattern, requirement: compiled };
    const identities = pattern.alternatives.map((alternative) => routeOf(rule, alternative));
    const twin = identities.map((identity) => routes.get(identity)).find((known) => known !== undefined);
    if (twin) {
      report({
        code: "route_duplicate",
        path,
        message: `is the same route as \`${twin.rule.key}\`.`,
        hint: "Keep one of the two: parameter names, letter case, a trailing slash and optional groups do not make another route.",
      });
    }
    for (const identity of identities) routes.set(identity, rule);
  }
  return routes;
}

function growTree(rules: readonly CompiledRule[], report: Report): RuleTree {
  const tree = new RuleTree();
  for (const compiled of rules) {
    const { key, source } = compiled.rule;
    const conflicts = compiled.pattern.alternatives.map((alternative) => tree.add(compiled, alternative));
    const conflict = conflicts.find((one) => one !== undefined);
    if (!conflict) continue;
    report({
      code: "route_ambiguous",
      path: [source === "default" ? "defaultScopeMappings" : "scopeMappings", key],
      message: `spells \`${conflict.written}\`, which another rule spells \`${conflict.earlier}\` at the same place.`,
      hint: `Write \`${conflict.earlier}\` here, or change the other rule: many routers read both as one path.`,
    });
  }
  return tree;
}

const routeOf = ({ rule }: CompiledRule, { segments }: Alternative): string =>
  `${rule.method} ${identityOf(segments)}`;

/** The rule without the routes that another table has; none when nothing is left. */
function without(compiled: CompiledRule, other: Routes): readonly CompiledRule[] {
  const alternatives = compiled.pattern.alternatives.filter((one) => !other.has(routeOf(compiled, one)));
  return alternatives.length === 0 ? [] : [{ ...compiled, pattern: { ...compiled.pattern, alternatives } }];
}

const asOverride = (compiled: CompiledRule): CompiledRule => ({
  ...compiled,
  ...describe({ ...compiled.rule, source: "override" }),
});

function describe(own: Rule): Pick<CompiledRule, "rule" | "asList"> {
  const rule = Object.freeze(own);
  return { rule, asList: Object.freeze([rule]) };
}

/** A copy, so that the table of a running server does not change when the options object does. */
function freeze(requirement: Requirement): Requirement {
  if (typeof requirement === "string") return requirement;
  if ("filtered" in requirement) return Object.freeze({ filtered: requirement.filtered });
  if ("anyOf" in requirement) return Object.freeze({ anyOf: Object.freeze([...requirement.anyOf]) });
  return Object.freeze([...requirement]);
}
