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
import { type CompiledRule, type Enforcement, optionOf, type Rule, type RuleSource } from "./rule.ts";
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
type Routes = ReadonlyMap<string, CompiledRule>;

interface Compiled {
  readonly rules: readonly CompiledRule[];
  readonly routes: Routes;
}

/**
 * Compiles the base table and the custom table into one. A custom rule replaces a default rule for each route
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
  const custom = added.rules.map((rule) =>
    identitiesOf(rule).some((identity) => base.routes.has(identity)) ? asOverride(rule) : rule,
  );
  const kept = base.rules.flatMap((rule) => without(rule, added.routes));
  const rules = [...kept, ...custom];
  return { rules, tree: growTree(rules, report), operations: new OperationRules(rules), enforcement };
}

function compileTable(
  source: RuleSource,
  table: ScopeMappings,
  report: Report,
  server: Enforcement,
): Compiled {
  const rules: CompiledRule[] = [];
  /** Rules whose only route another rule of the table repeats. */
  const repeated = new Set<CompiledRule>();
  const routes = new Map<string, CompiledRule>();
  for (const [key, written] of Object.entries(table)) {
    const path = [optionOf(source), key];
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
    const twins = identities.flatMap((identity) => routes.get(identity) ?? []);
    const twin = twins.find((known) => !isRepetition(rule, known));
    if (twin) report({ code: "route_duplicate", path, ...describeTwins(rule, twin) });
    for (const known of twins) if (isRepetition(rule, known)) repeated.add(known);
    rules.push(rule);
    for (const identity of identities) routes.set(identity, rule);
  }
  const decisive = new Set(routes.values());
  return { rules: rules.filter((rule) => decisive.has(rule) || repeated.has(rule)), routes };
}

const isGrouped = ({ pattern }: CompiledRule): boolean => pattern.alternatives.length > 1;

/** `/docs` beside `/docs/{*path}` is a habit of authors. It is harmless if both rules require the same. */
const isRepetition = (one: CompiledRule, other: CompiledRule): boolean =>
  (isRootOf(one, other) || isRootOf(other, one)) &&
  one.rule.enforcement === other.rule.enforcement &&
  JSON.stringify(one.rule.requirement) === JSON.stringify(other.rule.requirement);

/** Returns whether a pattern is the text of another one before its optional wildcard. */
function isRootOf({ pattern: root }: CompiledRule, { pattern: subtree }: CompiledRule): boolean {
  const [, base] = /^(.*)(?:\/\{|\{\/)\*\w+\}$/.exec(subtree.source) ?? [];
  return base === root.source.replace(/\/$/, "");
}

function describeTwins(rule: CompiledRule, twin: CompiledRule): Pick<ConfigurationIssue, "message" | "hint"> {
  const grouped = [rule, twin].find(isGrouped);
  if (!grouped)
    return {
      message: `is the same route as \`${twin.rule.key}\`.`,
      hint: "Keep one of the two: parameter names, letter case and a trailing slash do not make another route.",
    };
  return {
    message: `is for a route that \`${twin.rule.key}\` is for, too: \`${grouped.rule.key}\` also stands for its path without the group in braces, and a trailing slash does not make another route.`,
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
      path: [optionOf(source), key],
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
