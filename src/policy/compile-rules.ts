import { type ConfigurationIssue, type Report } from "../errors.ts";
import { OPERATION_METHOD } from "../request.ts";
import { OperationRules } from "./operation.ts";
import { identityOf, type Alternative } from "./pattern.ts";
import {
  compileRequirement,
  isReportOnly,
  type Requirement,
  type ScopeMappings,
  scopesOf,
} from "./requirement.ts";
import { parseRouteKey } from "./route-key.ts";
import { type CompiledRule, type Enforcement, type Rule, type RuleSource } from "./rule.ts";
import { RuleTree } from "./rule-tree.ts";

/** The rules of a table, and the tree that finds them. */
export interface CompiledTable {
  readonly rules: readonly CompiledRule[];
  readonly tree: RuleTree;
  readonly operations: OperationRules;
  /** The enforcement of the server, for requests without a rule. `"report"` also applies to every rule. */
  readonly enforcement: Enforcement;
}

/** Each route or operation of a table, by its identity; a rule with optional groups has several. */
type Routes = Map<string, CompiledRule>;

/** The option that contains the rule. */
const OPTIONS = { default: "defaultScopeMappings", custom: "scopeMappings", override: "scopeMappings" };

/**
 * Compiles the default and the custom table into one. A custom rule replaces a default rule for each route
 * that they have in common. Parameter names, letter case and a trailing slash do not make another route.
 */
export function compileRules(
  defaults: ScopeMappings,
  customs: ScopeMappings,
  report: Report,
  enforcement: Enforcement = "enforce",
): CompiledTable {
  const base = compileTable("default", defaults, report, enforcement);
  const added = compileTable("custom", customs, report, enforcement);
  const replaced = new Set([...added].filter(([route]) => base.has(route)).map(([, rule]) => rule));
  const custom = [...new Set(added.values())].map((rule) => (replaced.has(rule) ? asOverride(rule) : rule));
  const kept = [...new Set(base.values())].flatMap((rule) => without(rule, added));
  const rules = [...kept, ...custom];
  return { rules, tree: growTree(rules, report), operations: new OperationRules(rules), enforcement };
}

function compileTable(source: RuleSource, table: ScopeMappings, report: Report, server: Enforcement): Routes {
  const routes: Routes = new Map();
  for (const [key, written] of Object.entries(table)) {
    const path = [OPTIONS[source], key];
    const [requirement, place, wanted] = isReportOnly(written)
      ? [written.report, [...path, "report"], "report" as const]
      : [written, path, server];
    const route = parseRouteKey(key, path, report);
    const compiled = route && compileRequirement(requirement, route.pattern.parameters, place, report);
    if (!compiled) continue;
    const { method, pattern } = route;
    // Without scopes there is nothing to report: a missing or bad token is always refused.
    const enforcement = scopesOf(compiled).length > 0 ? wanted : "enforce";
    const fixed = freeze(requirement);
    const own = { key, method, pattern: pattern.source, requirement: fixed, enforcement, source };
    const rule = { ...describe(own), pattern, requirement: compiled };
    const identities = identitiesOf(rule);
    const twin = identities.map((identity) => routes.get(identity)).find((known) => known !== undefined);
    if (twin) report({ code: "route_duplicate", path, ...describeTwins(rule, twin) });
    for (const identity of identities) routes.set(identity, rule);
  }
  return routes;
}

function describeTwins(rule: CompiledRule, twin: CompiledRule): Pick<ConfigurationIssue, "message" | "hint"> {
  const grouped = [rule, twin].find(({ pattern }) => pattern.alternatives.length > 1);
  if (!grouped)
    return {
      message: `is the same route as \`${twin.rule.key}\`.`,
      hint: "Keep one of the two: parameter names, letter case and a trailing slash do not make another route.",
    };
  return {
    message: `has a path in common with \`${twin.rule.key}\`: \`${grouped.rule.key}\` also matches without its optional group.`,
    hint: "Keep one of the two, or write the route without braces, such as `/*path` instead of `/{*path}`.",
  };
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
      path: [OPTIONS[source], key],
      message: `spells \`${conflict.written}\`, which another rule spells \`${conflict.earlier}\` at the same place.`,
      hint: `Write \`${conflict.earlier}\` here, or change the other rule: many routers read both as one path.`,
    });
  }
  return tree;
}

const identitiesOf = (compiled: CompiledRule): readonly string[] =>
  compiled.rule.method === OPERATION_METHOD
    ? [compiled.rule.pattern]
    : compiled.pattern.alternatives.map((alternative) => routeOf(compiled, alternative));

const routeOf = ({ rule }: CompiledRule, { segments }: Alternative): string =>
  `${rule.method} ${identityOf(segments)}`;

/** Returns the rule without the routes that another table has; an empty array if nothing is left. */
function without(compiled: CompiledRule, other: Routes): readonly CompiledRule[] {
  if (compiled.rule.method === OPERATION_METHOD) return other.has(compiled.rule.pattern) ? [] : [compiled];
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

/** Returns a copy, so that the table of a running server does not change when the options object does. */
function freeze(requirement: Requirement): Requirement {
  if (typeof requirement === "string") return requirement;
  if ("filtered" in requirement) return Object.freeze({ filtered: requirement.filtered });
  if ("anyOf" in requirement) return Object.freeze({ anyOf: Object.freeze([...requirement.anyOf]) });
  return Object.freeze([...requirement]);
}
