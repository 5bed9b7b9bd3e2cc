import type { ConfigurationIssue, Report } from "../errors.ts";
import { OPERATION_METHOD } from "../request.ts";
import { OperationRules } from "./operation.ts";
import { identityOf, type Alternative } from "./pattern.ts";
import {
  compileRequirement,
  isReportOnly,
  type ReportOnly,
  type Requirement,
  type ScopeMappings,
  scopesOf,
} from "./requirement.ts";
import { parseRouteKey } from "./route-key.ts";
import { type CompiledRule, type Enforcement, optionPath, type Rule, type RuleSource } from "./rule.ts";
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
  const defaultTable = compileTable("default", defaults, report, enforcement);
  const customTable = compileTable("custom", customs, report, enforcement);
  const customRules = customTable.rules.map((rule) =>
    identitiesOf(rule).some((identity) => defaultTable.routes.has(identity)) ? asOverride(rule) : rule,
  );
  const defaultRules = defaultTable.rules.flatMap((rule) => withoutRoutes(rule, customTable.routes));
  const rules = [...defaultRules, ...customRules];
  return { rules, tree: growTree(rules, report), operations: new OperationRules(rules), enforcement };
}

function compileTable(
  source: RuleSource,
  table: ScopeMappings,
  report: Report,
  enforcement: Enforcement,
): { readonly rules: readonly CompiledRule[]; readonly routes: Routes } {
  const rules: CompiledRule[] = [];
  const routes = new Map<string, CompiledRule>();
  /** Rules whose routes are those of later rules, which is no mistake if both require the same. */
  const repeated = new Set<CompiledRule>();
  for (const [key, written] of Object.entries(table)) {
    const rule = compileRule(source, key, written, report, enforcement);
    if (!rule) continue;
    const identities = identitiesOf(rule);
    const sameRoutes = identities.flatMap((identity) => routes.get(identity) ?? []);
    const duplicate = sameRoutes.find((earlier) => !isRepetition(rule, earlier));
    if (duplicate) report(describeDuplicate(rule, duplicate));
    for (const earlier of sameRoutes) if (isRepetition(rule, earlier)) repeated.add(earlier);
    rules.push(rule);
    for (const identity of identities) routes.set(identity, rule);
  }
  const decisive = new Set(routes.values());
  return { rules: rules.filter((rule) => decisive.has(rule) || repeated.has(rule)), routes };
}

/** Compiles one entry of a table; `undefined` if it has a mistake, which is reported. */
function compileRule(
  source: RuleSource,
  key: string,
  written: Requirement | ReportOnly,
  report: Report,
  serverEnforcement: Enforcement,
): CompiledRule | undefined {
  const path = optionPath({ source, key });
  const route = parseRouteKey(key);
  if ("code" in route) {
    report({ ...route, path });
    return undefined;
  }
  const { method, pattern } = route;
  const isWrittenAsReport = isReportOnly(written);
  const requirement = isWrittenAsReport ? written.report : written;
  const requirementPath = isWrittenAsReport ? [...path, "report"] : path;
  const compiled = compileRequirement(requirement, pattern.parameters, requirementPath, report);
  if (!compiled) return undefined;
  const isReported = isWrittenAsReport || serverEnforcement === "report";
  // Without scopes there is nothing to report: a missing or bad token is always refused.
  const enforcement = isReported && scopesOf(compiled).length > 0 ? "report" : "enforce";
  const frozen = freezeCopy(requirement);
  const rule: Rule = { key, method, pattern: pattern.source, requirement: frozen, enforcement, source };
  return { ...withFrozenRule(rule), pattern, requirement: compiled };
}

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

function describeDuplicate(rule: CompiledRule, earlier: CompiledRule): ConfigurationIssue {
  const issue = { code: "route_duplicate", path: optionPath(rule.rule) } as const;
  const grouped = [rule, earlier].find(({ pattern }) => pattern.alternatives.length > 1);
  if (!grouped)
    return {
      ...issue,
      message: `is the same route as \`${earlier.rule.key}\`.`,
      hint: "Keep one of the two: parameter names, letter case and a trailing slash do not make another route.",
    };
  return {
    ...issue,
    message: `is for a route that \`${earlier.rule.key}\` is for, too: \`${grouped.rule.key}\` also stands for its path without the group in braces, and a trailing slash does not make another route.`,
    hint: "Keep one of the two, or write the route without braces, such as `/*path` instead of `/{*path}`.",
  };
}

function growTree(rules: readonly CompiledRule[], report: Report): RuleTree {
  const tree = new RuleTree();
  for (const compiled of rules) {
    const { alternatives } = compiled.pattern;
    const [conflict] = alternatives.flatMap((alternative) => tree.add(compiled, alternative) ?? []);
    if (!conflict) continue;
    report({
      code: "route_ambiguous",
      path: optionPath(compiled.rule),
      message: `spells \`${conflict.written}\`, which another rule spells \`${conflict.earlier}\` at the same place.`,
      hint: `Write \`${conflict.earlier}\` here, or change the other rule: many routers read both as one path.`,
    });
  }
  return tree;
}

/** Returns the keys of `Routes` for a rule. An operation has no path, only its name. */
const identitiesOf = (compiled: CompiledRule): readonly string[] =>
  compiled.rule.method === OPERATION_METHOD
    ? [compiled.rule.pattern]
    : compiled.pattern.alternatives.map((alternative) => routeIdentity(compiled, alternative));

const routeIdentity = ({ rule }: CompiledRule, { segments }: Alternative): string =>
  `${rule.method} ${identityOf(segments)}`;

/** Returns the rule without the routes of another table; an empty array if nothing is left. */
function withoutRoutes(compiled: CompiledRule, routes: Routes): readonly CompiledRule[] {
  if (!identitiesOf(compiled).some((identity) => routes.has(identity))) return [compiled];
  const alternatives = compiled.pattern.alternatives.filter(
    (alternative) => !routes.has(routeIdentity(compiled, alternative)),
  );
  return alternatives.length === 0 ? [] : [{ ...compiled, pattern: { ...compiled.pattern, alternatives } }];
}

const asOverride = (compiled: CompiledRule): CompiledRule => ({
  ...compiled,
  ...withFrozenRule({ ...compiled.rule, source: "override" }),
});

function withFrozenRule(rule: Rule): Pick<CompiledRule, "rule" | "asList"> {
  const frozen = Object.freeze(rule);
  return { rule: frozen, asList: Object.freeze([frozen]) };
}

/** Returns a copy, so that the table of a running server does not change when the options object does. */
function freezeCopy(requirement: Requirement): Requirement {
  if (typeof requirement === "string") return requirement;
  if ("filtered" in requirement) return Object.freeze({ filtered: requirement.filtered });
  if ("anyOf" in requirement) return Object.freeze({ anyOf: Object.freeze([...requirement.anyOf]) });
  return Object.freeze([...requirement]);
}
