/** Checks what custom rules replace, so that they can't open a route of the base table by mistake. */
import { type ConfigurationIssue, type Report, suggest } from "../errors.ts";
import type { ScopeRules } from "../scopes/scope.ts";
import { type CompiledTable, entryOf, type Replacement } from "./compile-rules.ts";
import { describeRule } from "./describe.ts";
import { implies } from "./implication.ts";
import type { Conditions } from "./conditions/written.ts";
import { identityOf, namesOf } from "./pattern.ts";
import { type CompiledRule, optionPath, renderRules } from "./rule.ts";

/** Reports custom rules that replace less, or require less, than intended. */
export function checkOverrides(table: CompiledTable, scopeRules: ScopeRules, report: Report): void {
  const { rules, replacements } = table;
  const replacing = new Set(replacements.map(({ custom }) => custom.rule.key));
  const exactDefaults = exactDefaultsByPath(rules);
  const weaker = new Map<string, Replacement>();
  for (const replacement of replacements)
    if (!replacement.custom.isOverride && isWeaker(replacement, scopeRules))
      // A rule with optional groups replaces one rule at several paths.
      weaker.set(`${replacement.custom.rule.key}\n${replacement.replaced.rule.key}`, replacement);
  for (const replacement of weaker.values()) report(describeWeaker(replacement));
  for (const compiled of rules) {
    const { rule } = compiled;
    if (compiled.isOverride && !replacing.has(rule.key)) report(describeUnneeded(compiled, rules));
    if (rule.source === "default" || rule.method !== "*") continue;
    const kept = pathsOf(compiled).flatMap((path) => exactDefaults.get(path) ?? []);
    if (kept.length > 0) report(describeKept(compiled, [...new Set(kept)]));
  }
}

/** Returns whether a rule requires less than the default rule, which a report-only rule leaves enforced. */
export function isWeaker({ custom, replaced, segments }: Replacement, scopeRules: ScopeRules): boolean {
  const enforced = custom.isReport ? custom.beside : custom;
  if (!enforced) return false;
  const base = { compiled: replaced.beside ?? replaced, segments: segmentsOf(replaced, segments) };
  const replacing = { compiled: enforced, segments };
  if (losesConditions(enforced, base.compiled)) return true;
  return !implies(replacing, base, undefined, scopeRules) && implies(base, replacing, undefined, scopeRules);
}

/** Returns whether a rule lacks a condition of another rule, has a wider one, or makes another exception. */
function losesConditions(replacing: CompiledRule, base: CompiledRule): boolean {
  const written = withPlaces(replacing);
  const baseWritten = withPlaces(base);
  const { maxAuthAgeSeconds = Infinity } = written;
  const { maxAuthAgeSeconds: baseAge = Infinity } = baseWritten;
  const isChanged = (name: keyof Conditions): boolean =>
    JSON.stringify(written[name]) !== JSON.stringify(baseWritten[name]);
  const isLost = LASTING.some((name) => baseWritten[name] !== undefined && isChanged(name));
  const hasException = EXCEPTIONS.some((name) => written[name] !== undefined && isChanged(name));
  return isLost || (base.conditions !== undefined && hasException) || maxAuthAgeSeconds > baseAge;
}

const LASTING = ["where", "actors", "clients", "acr"] as const;
const EXCEPTIONS = ["unless", "except"] as const;

/** Returns the conditions of a rule. In `where`, the names of parameters are replaced by their places. */
function withPlaces({ rule: { conditions = {} }, pattern }: CompiledRule): Conditions {
  const { where } = conditions;
  if (!where) return conditions;
  const segments = pattern.alternatives[0]?.segments ?? [];
  const placeOf = (name: string): string =>
    String(segments.findIndex((segment) => namesOf(segment).includes(name)));
  const placed = Object.entries(where).map(([name, source]) => [placeOf(name), source] as const);
  return { ...conditions, where: Object.fromEntries(placed) };
}

/** The alternative of a rule that is the same route, with the names of its own parameters. */
const segmentsOf = ({ pattern }: CompiledRule, segments: Replacement["segments"]): Replacement["segments"] =>
  pattern.alternatives.find((alternative) => identityOf(alternative.segments) === identityOf(segments))
    ?.segments ?? [];

const describeWeaker = ({ custom, replaced }: Replacement): ConfigurationIssue => ({
  code: "override_weaker",
  path: optionPath(custom.rule),
  message: `requires less than the base table's rule that it replaces, \`${replaced.rule.key}\` (${describeRule(replaced.rule)}).`,
  hint: `If that's intended, write { override: ${JSON.stringify(entryOf(custom))} }.`,
});

const describeUnneeded = ({ rule }: CompiledRule, rules: readonly CompiledRule[]): ConfigurationIssue => ({
  code: "override_unneeded",
  path: optionPath(rule),
  message: "replaces no rule of the base table.",
  hint: suggest(
    rule.key,
    rules.filter((compiled) => compiled.rule.source === "default").map((compiled) => compiled.rule.key),
    "Write the requirement without { override }.",
  ),
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
