/** Checks what custom rules replace in the base table. */
import type { ConfigurationIssue, Report } from "../errors.ts";
import type { CompiledTable, Replacement } from "./compile-rules.ts";
import { describeRule } from "./describe.ts";
import { type CheckedTable, implies } from "./implication.ts";
import { identityOf } from "./pattern.ts";
import { type CompiledRule, optionPath, renderRules } from "./rule.ts";

/** Reports custom rules that replace less than intended, or lose a condition. */
export function checkOverrides({ rules, replacements }: CompiledTable, report: Report): void {
  const exactDefaults = exactDefaultsByPath(rules);
  for (const { custom, replaced } of distinct(replacements))
    // Beside a rule for one method, the conditions of a base rule for `*` still apply.
    if (custom.rule.method === replaced.rule.method && replaced.conditions?.areWeakenedBy(custom))
      report(describeLost(custom, replaced));
  for (const compiled of rules) {
    const { rule } = compiled;
    if (rule.source === "default" || rule.method !== "*") continue;
    const kept = pathsOf(compiled).flatMap((path) => exactDefaults.get(path) ?? []);
    const byKey = [...new Set(kept)].sort((a, b) => (a.rule.key < b.rule.key ? -1 : 1));
    if (kept.length > 0) report(describeKept(compiled, byKey));
  }
}

/** Finds custom rules that allow callers whom the replaced rule of the base table doesn't allow. */
export const findWeakerOverrides = (table: CheckedTable): readonly Replacement[] =>
  distinct(table.replacements.filter((replacement) => !impliesReplaced(replacement, table)));

/** Describes such a rule, for a warning at startup, in an audit and on the policy page. */
export const describeWeaker = ({ custom, replaced }: Replacement): string =>
  `\`${custom.rule.key}\` requires ${describeRule(custom)}. It replaces \`${replaced.rule.key}\` of the base table, which requires ${describeRule(replaced)}.`;

/** Describes at most ten of such rules in one warning. */
export const describeAllWeaker = (weaker: readonly Replacement[]): string =>
  weaker.slice(0, 10).map(describeWeaker).join(" ") +
  (weaker.length > 10 ? ` And ${weaker.length - 10} more: run \`scopegate lint\`.` : "");

/** A rule with optional groups replaces one rule at several paths. */
const distinct = (replacements: readonly Replacement[]): readonly Replacement[] => [
  ...new Map(
    replacements.map((each) => [`${each.custom.rule.key}\n${each.replaced.rule.key}`, each]),
  ).values(),
];

function impliesReplaced({ custom, replaced, segments }: Replacement, table: CheckedTable): boolean {
  const base = { compiled: replaced, segments: segmentsOf(replaced, segments) };
  const requests = { method: custom.rule.method, segments };
  return implies({ compiled: custom, segments }, base, requests, table);
}

/** The alternative of a rule that is the same route, with the names of its own parameters. */
const segmentsOf = ({ pattern }: CompiledRule, segments: Replacement["segments"]): Replacement["segments"] =>
  pattern.alternatives.find((alternative) => identityOf(alternative.segments) === identityOf(segments))
    ?.segments ?? [];

const describeLost = ({ rule }: CompiledRule, replaced: CompiledRule): ConfigurationIssue => ({
  code: "condition_conflict",
  path: optionPath(rule),
  message: `loses or widens a condition of the base table's rule that it replaces, \`${replaced.rule.key}\` (${describeRule(replaced)}).`,
  hint: "Repeat the condition.",
});

/** The default rules for exact methods. For the same path, they decide before a custom rule for `*`. */
function exactDefaultsByPath(rules: readonly CompiledRule[]): ReadonlyMap<string, readonly CompiledRule[]> {
  const byPath = new Map<string, CompiledRule[]>();
  for (const compiled of rules) {
    const { source, method } = compiled.rule;
    if (source !== "default" || method === "*") continue;
    for (const path of pathsOf(compiled)) byPath.set(path, [...(byPath.get(path) ?? []), compiled]);
  }
  return byPath;
}

/** The identities of the paths of a rule; none for an operation. */
const pathsOf = ({ pattern }: CompiledRule): readonly string[] =>
  pattern.alternatives.map(({ segments }) => identityOf(segments));

const describeKept = ({ rule }: CompiledRule, kept: readonly CompiledRule[]): ConfigurationIssue => ({
  code: "override_partial",
  path: optionPath(rule),
  message: `doesn't replace ${renderRules(kept.map((compiled) => compiled.rule))} of the base table: for the same path, the rule for an exact method decides.`,
  hint: `Write what these methods require, such as \`${kept[0]?.rule.method} ${rule.pattern}\`, or pass a base table without them as defaultScopeMappings.`,
});
