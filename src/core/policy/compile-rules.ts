import type { ConfigurationIssue, Report } from "../errors.ts";
import { compact } from "../runtime/compact.ts";
import { ANY } from "../scopes/required-scope.ts";
import type { KeyLanguage, OperationRules } from "./key-language.ts";
import { type Alternative, identityOf, type PatternSegment } from "./pattern.ts";
import type { ConditionedRules, ConditionLanguage } from "./condition-language.ts";
import { compileRequirement, type Requirement } from "./requirement.ts";
import type { ScopeMappings } from "./scope-mappings.ts";
import { readEntry, type TableEntry, writeEntry } from "./table-entry.ts";
import { parseRouteKey } from "./route-key.ts";
import { type CompiledRule, optionPath, type Rule, type RuleSource } from "./rule.ts";
import { RuleTree } from "./rule-tree.ts";

/** The rules of a table, and the tree that finds them. */
export interface CompiledTable {
  readonly rules: readonly CompiledRule[];
  readonly replacements: readonly Replacement[];
  readonly tree: RuleTree;
  /** Absent without the option `mcp`: the table then has no rules for operations. */
  readonly operations: OperationRules | undefined;
  readonly language: KeyLanguage | undefined;
  /** The rules with conditions, which also apply to narrower rules; `undefined` if there are none. */
  readonly conditioned: ConditionedRules | undefined;
}

/** A default rule that a custom rule replaces, at one of its paths; without a path for an operation. */
export interface Replacement {
  readonly custom: CompiledRule;
  readonly replaced: CompiledRule;
  readonly segments: readonly PatternSegment[];
}

/** Each route or operation of a table, by its identity; a rule with optional groups has several. */
type Routes = ReadonlyMap<string, CompiledRule>;

interface SourceTable {
  readonly rules: readonly CompiledRule[];
  readonly routes: Routes;
}

/** The options that a table is compiled with. */
interface TableSettings {
  /** Parses the keys of operations. Without it, they are mistakes. */
  readonly language?: KeyLanguage | undefined;
  /** What compiles conditions. Default: a rule with conditions is a mistake. */
  readonly conditions?: ConditionLanguage;
}

/**
 * Compiles the base table and the custom table into one. A custom rule replaces a default rule for each route
 * that they have in common. Parameter names, letter case and a trailing slash don't make another route.
 */
export function compileRules(
  defaults: ScopeMappings,
  customs: ScopeMappings,
  report: Report,
  { language, conditions = rejectConditions(report) }: TableSettings = {},
): CompiledTable {
  const settings = { language, conditions };
  const defaultTable = compileTable("default", defaults, report, settings);
  const customTable = compileTable("custom", customs, report, settings);
  const customRules = customTable.rules.map((rule) =>
    identitiesOf(rule).some((identity) => defaultTable.routes.has(identity)) ? asOverride(rule) : rule,
  );
  const defaultRules = defaultTable.rules.flatMap((rule) => withoutRoutes(rule, customTable.routes));
  const rules = [...defaultRules, ...customRules];
  const tree = growTree(rules, report);
  const conditioned = conditions.collect(rules);
  return {
    rules,
    conditioned,
    replacements: findReplacements(defaultTable.routes, customRules, customTable.routes),
    tree,
    operations: language?.createRules(rules, conditioned),
    language,
  };
}

/** Without the option `conditions`, the first rule with conditions is reported. */
export const rejectConditions = (report: Report): ConditionLanguage => ({
  compile(_written, _route, [, key]) {
    report({
      code: "option_missing",
      path: ["conditions"],
      message: `is missing, but \`${key}\` has conditions on its caller.`,
      hint: "Write `conditions: callerConditions()`, imported from scopegate/conditions.",
    });
  },
  collect: () => undefined,
});

/** A custom rule for a method also replaces the default rule for `*`, unless a custom rule does that. */
function findReplacements(
  defaultRoutes: Routes,
  customRules: readonly CompiledRule[],
  customRoutes: Routes,
): readonly Replacement[] {
  return customRules.flatMap((custom) =>
    identitiesOf(custom).flatMap((identity, index) => {
      const everyMethod = identity.replace(/^\S+ /, "* ");
      const wideRule = customRoutes.has(everyMethod) ? undefined : defaultRoutes.get(everyMethod);
      const replaced = defaultRoutes.get(identity) ?? wideRule;
      const segments = custom.pattern.alternatives[index]?.segments ?? [];
      return replaced ? [{ custom, replaced, segments }] : [];
    }),
  );
}

function compileTable(
  source: RuleSource,
  table: ScopeMappings,
  report: Report,
  settings: Required<TableSettings>,
): SourceTable {
  const rules = Object.entries(table).flatMap(
    ([key, entry]) => compileRule(source, key, entry, report, settings) ?? [],
  );
  const routes = new Map<string, CompiledRule>();
  const duplicates = new Set<CompiledRule>();
  for (const rule of inOrderOfText(rules)) {
    const identities = identitiesOf(rule);
    const sameRoutes = identities.flatMap((identity) => routes.get(identity) ?? []);
    const duplicate = sameRoutes.find((earlier) => !isRepetition(rule, earlier));
    if (duplicate) {
      report(describeDuplicate(rule, duplicate));
      duplicates.add(rule);
      continue;
    }
    for (const identity of identities) routes.set(identity, rule);
  }
  return { rules: rules.filter((rule) => !duplicates.has(rule)), routes };
}

/**
 * Mistakes don't depend on the order of writing. A rule of the base table comes before custom rules, and
 * small letters before capital ones: the first rule has the spelling to keep.
 */
function inOrderOfText(rules: readonly CompiledRule[]): readonly CompiledRule[] {
  const rank = ({ rule }: CompiledRule) => Number(rule.source !== "default");
  const text = ({ rule }: CompiledRule) => `${rule.pattern} ${rule.method}`;
  return rules.toSorted((a, b) => rank(a) - rank(b) || (text(a) > text(b) ? -1 : 1));
}

/** Compiles one entry of a table; `undefined` if it has a mistake, which is reported. */
function compileRule(
  source: RuleSource,
  key: string,
  entry: TableEntry,
  report: Report,
  { language, conditions: conditionLanguage }: Required<TableSettings>,
): CompiledRule | undefined {
  const path = optionPath({ source, key });
  const route = parseRouteKey(key, language);
  if ("code" in route) {
    report({ path, ...route });
    return undefined;
  }
  if (route.pattern.parameters !== "any" && route.pattern.parameters.has(ANY)) {
    const hint = "Give it another name: in a scope, `<any>` stands for at least one id.";
    report({ code: "route_pattern_invalid", path, message: "has a parameter called `any`.", hint });
    return undefined;
  }
  const written = readEntry(entry);
  const requirement = compileRequirement(written.requirement, route, [...path, ...written.path], report);
  const conditions =
    written.conditions && conditionLanguage.compile(written.conditions, route, path, report, language);
  if (!requirement || (written.conditions && !conditions)) return undefined;
  const rule: Rule = {
    key,
    method: route.method,
    pattern: route.pattern.source,
    requirement: freezeCopy(written.requirement),
    ...compact({ conditions: conditions?.written }),
    source,
  };
  return { ...withFrozenRule(rule), pattern: route.pattern, requirement, ...compact({ conditions }) };
}

/** Returns a rule as a table contains it. */
export const entryOf = ({ rule: { requirement, conditions } }: CompiledRule): TableEntry =>
  writeEntry({ requirement, conditions });

/** Authors often write `/docs` next to `/docs{/*path}`. It's harmless if both rules require the same. */
const isRepetition = (first: CompiledRule, second: CompiledRule): boolean =>
  (isRootOf(first, second) || isRootOf(second, first)) &&
  JSON.stringify(entryOf(first)) === JSON.stringify(entryOf(second));

/** Returns whether a pattern is the part of another one before its optional wildcard. */
function isRootOf({ pattern: root }: CompiledRule, { pattern: subtree }: CompiledRule): boolean {
  const [, base] = /^(.*)(?:\/\{|\{\/)\*\w+\}$/.exec(subtree.source) ?? [];
  return base === root.source.replace(/\/$/, "");
}

function describeDuplicate(rule: CompiledRule, earlier: CompiledRule): ConfigurationIssue {
  const { key } = earlier.rule;
  const grouped = [rule, earlier].find(({ pattern }) => pattern.alternatives.length > 1);
  return {
    code: "route_duplicate",
    path: optionPath(rule.rule),
    message: grouped
      ? `is for the same route as \`${key}\`: \`${grouped.rule.key}\` also stands for its path without the group in braces, and a trailing slash doesn't make another route.`
      : `is the same route as \`${key}\`.`,
    hint: grouped
      ? "Keep one of the two, or write the route without the braces."
      : "Keep one of the two: parameter names, letter case and a trailing slash don't make another route.",
  };
}

function growTree(rules: readonly CompiledRule[], report: Report): RuleTree {
  const tree = new RuleTree();
  for (const compiled of inOrderOfText(rules)) {
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
  compiled.pattern.operation
    ? [compiled.pattern.operation.identity]
    : compiled.pattern.alternatives.map((alternative) => routeIdentity(compiled, alternative));

const routeIdentity = ({ rule }: CompiledRule, { segments }: Alternative): string =>
  `${rule.method} ${identityOf(segments)}`;

/** Returns the rule without the routes of another table; an empty array if nothing is left. */
function withoutRoutes(compiled: CompiledRule, routes: Routes): readonly CompiledRule[] {
  if (!identitiesOf(compiled).some((identity) => routes.has(identity))) return [compiled];
  const alternatives = compiled.pattern.alternatives.filter(
    (alternative) => !routes.has(routeIdentity(compiled, alternative)),
  );
  return alternatives.length === 0
    ? []
    : [{ ...compiled, isPart: true, pattern: { ...compiled.pattern, alternatives } }];
}

const asOverride = (compiled: CompiledRule): CompiledRule => ({
  ...compiled,
  ...withFrozenRule({ ...compiled.rule, source: "override" }),
});

function withFrozenRule(rule: Rule): Pick<CompiledRule, "rule" | "asList"> {
  const frozen = Object.freeze(rule);
  return { rule: frozen, asList: Object.freeze([frozen]) };
}

/** Returns a copy, so that the table of a running server doesn't change when the options object does. */
function freezeCopy(requirement: Requirement): Requirement {
  if (typeof requirement === "string") return requirement;
  if ("anyOf" in requirement) return Object.freeze({ anyOf: Object.freeze([...requirement.anyOf]) });
  return Object.freeze([...requirement]);
}
