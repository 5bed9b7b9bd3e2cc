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

type Path = ConfigurationIssue["path"];

/** The rule of each route or operation of a table, by identity; a rule with optional groups has several. */
type Routes = ReadonlyMap<string, CompiledRule>;

/** The rules of the default table, or of the custom table. */
interface TableRules {
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
  const custom = compileTable("custom", customs, report, enforcement);
  const rules: CompiledRule[] = [];
  for (const rule of base.rules) {
    const remainder = withoutRoutes(rule, custom.routes);
    if (remainder) rules.push(remainder);
  }
  for (const rule of custom.rules) {
    const isOverride = identitiesOf(rule).some((identity) => base.routes.has(identity));
    rules.push(isOverride ? asOverride(rule) : rule);
  }
  return { rules, tree: growTree(rules, report), operations: new OperationRules(rules), enforcement };
}

function compileTable(
  source: RuleSource,
  table: ScopeMappings,
  report: Report,
  enforcement: Enforcement,
): TableRules {
  const rules: CompiledRule[] = [];
  /** Rules whose only route another rule of the table repeats. */
  const repeated = new Set<CompiledRule>();
  const routes = new Map<string, CompiledRule>();
  for (const [key, written] of Object.entries(table)) {
    const path = [optionOf(source), key];
    const rule = compileRule(source, key, readEntry(written, path, enforcement), report);
    if (!rule) continue;
    const identities = identitiesOf(rule);
    const rulesOfSameRoutes = identities.flatMap((identity) => routes.get(identity) ?? []);
    const duplicate = rulesOfSameRoutes.find((earlier) => !isRepetition(rule, earlier));
    if (duplicate) report({ code: "route_duplicate", path, ...describeDuplicate(rule, duplicate) });
    for (const earlier of rulesOfSameRoutes) if (isRepetition(rule, earlier)) repeated.add(earlier);
    rules.push(rule);
    for (const identity of identities) routes.set(identity, rule);
  }
  const decisive = new Set(routes.values());
  return { rules: rules.filter((rule) => decisive.has(rule) || repeated.has(rule)), routes };
}
/** A value of the table, as `METHOD /pattern` maps to it. */
interface TableEntry {
  readonly requirement: Requirement;
  /** The path of the requirement in the options. */
  readonly path: Path;
  readonly enforcement: Enforcement;
}

function readEntry(written: ScopeMappings[string], path: Path, ofServer: Enforcement): TableEntry {
  if (isReportOnly(written))
    return { requirement: written.report, path: [...path, "report"], enforcement: "report" };
  return { requirement: written, path, enforcement: ofServer };
}

function compileRule(
  source: RuleSource,
  key: string,
  entry: TableEntry,
  report: Report,
): CompiledRule | undefined {
  const route = parseRouteKey(key, [optionOf(source), key], report);
  if (!route) return undefined;
  const { method, pattern } = route;
  const compiled = compileRequirement(entry.requirement, pattern.parameters, entry.path, report);
  if (!compiled) return undefined;
  const rule: Rule = {
    key,
    method,
    pattern: pattern.source,
    requirement: freeze(entry.requirement),
    // Without scopes there is nothing to report: a missing or bad token is always refused.
    enforcement: scopesOf(compiled).length > 0 ? entry.enforcement : "enforce",
    source,
  };
  return { ...describeRule(rule), pattern, requirement: compiled };
}

const isGrouped = ({ pattern }: CompiledRule): boolean => pattern.alternatives.length > 1;

/** `/docs` beside `/docs/{*path}` is a habit of authors. It is harmless if both rules require the same. */
const isRepetition = (first: CompiledRule, second: CompiledRule): boolean =>
  (isRootOf(first, second) || isRootOf(second, first)) &&
  first.rule.enforcement === second.rule.enforcement &&
  JSON.stringify(first.rule.requirement) === JSON.stringify(second.rule.requirement);

/** Returns whether a pattern is the text of another one before its optional wildcard. */
function isRootOf({ pattern: root }: CompiledRule, { pattern: subtree }: CompiledRule): boolean {
  const [, base] = /^(.*)(?:\/\{|\{\/)\*\w+\}$/.exec(subtree.source) ?? [];
  return base === root.source.replace(/\/$/, "");
}

function describeDuplicate(
  rule: CompiledRule,
  earlier: CompiledRule,
): Pick<ConfigurationIssue, "message" | "hint"> {
  const grouped = [rule, earlier].find(isGrouped);
  if (!grouped)
    return {
      message: `is the same route as \`${earlier.rule.key}\`.`,
      hint: "Keep one of the two: parameter names, letter case and a trailing slash do not make another route.",
    };
  return {
    message: `is for a route that \`${earlier.rule.key}\` is for, too: \`${grouped.rule.key}\` also stands for its path without the group in braces, and a trailing slash does not make another route.`,
    hint: "Keep one of the two, or write the route without braces, such as `/*path` instead of `/{*path}`.",
  };
}

function growTree(rules: readonly CompiledRule[], report: Report): RuleTree {
  const tree = new RuleTree();
  for (const compiled of rules) {
    const conflicts = compiled.pattern.alternatives.map((alternative) => tree.add(compiled, alternative));
    const conflict = conflicts.find((spelling) => spelling !== undefined);
    if (!conflict) continue;
    report({
      code: "route_ambiguous",
      path: [optionOf(compiled.rule.source), compiled.rule.key],
      message: `spells \`${conflict.written}\`, which another rule spells \`${conflict.earlier}\` at the same place.`,
      hint: `Write \`${conflict.earlier}\` here, or change the other rule: many routers read both as one path.`,
    });
  }
  return tree;
}

function identitiesOf(compiled: CompiledRule): readonly string[] {
  if (compiled.rule.method === OPERATION_METHOD) return [compiled.rule.pattern];
  return compiled.pattern.alternatives.map((alternative) => identityOfRoute(compiled, alternative));
}

const identityOfRoute = ({ rule }: CompiledRule, { segments }: Alternative): string =>
  `${rule.method} ${identityOf(segments)}`;

/** Returns the rule without these routes; `undefined` if nothing is left. */
function withoutRoutes(compiled: CompiledRule, routes: Routes): CompiledRule | undefined {
  const { rule, pattern } = compiled;
  if (rule.method === OPERATION_METHOD) return routes.has(rule.pattern) ? undefined : compiled;
  const alternatives = pattern.alternatives.filter(
    (alternative) => !routes.has(identityOfRoute(compiled, alternative)),
  );
  return alternatives.length === 0 ? undefined : { ...compiled, pattern: { ...pattern, alternatives } };
}

const asOverride = (compiled: CompiledRule): CompiledRule => ({
  ...compiled,
  ...describeRule({ ...compiled.rule, source: "override" }),
});

function describeRule(description: Rule): Pick<CompiledRule, "rule" | "asList"> {
  const rule = Object.freeze(description);
  return { rule, asList: Object.freeze([rule]) };
}

/** Returns a copy, so that the table of a running server does not change when the options object does. */
function freeze(requirement: Requirement): Requirement {
  if (typeof requirement === "string") return requirement;
  if ("filtered" in requirement) return Object.freeze({ filtered: requirement.filtered });
  if ("anyOf" in requirement) return Object.freeze({ anyOf: Object.freeze([...requirement.anyOf]) });
  return Object.freeze([...requirement]);
}
