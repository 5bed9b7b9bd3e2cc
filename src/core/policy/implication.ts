/** Whether one rule implies another: a caller who satisfies the first one satisfies the second one too. */
import { bindScope } from "../scopes/required-scope.ts";
import { GrantedScopes, type ScopeRules } from "../scopes/scope.ts";
import { type PatternSegment } from "./pattern.ts";
import { type CompiledRequirement } from "./requirement.ts";
import { type CompiledRule } from "./rule.ts";
import { decodeSegment } from "./segment.ts";
import { isMet } from "./weigh.ts";

type Segments = readonly PatternSegment[];

/** A rule, and the segments of one of its alternatives. */
export interface PlacedRule {
  readonly compiled: CompiledRule;
  readonly segments: Segments;
}

/** What is the same for all rules of a table. */
export interface ImplicationRules {
  readonly scopeRules: ScopeRules;
  /** Whether the scopes of report-only rules count as enforced, because the whole server only reports. */
  readonly isReportOnly: boolean;
}

/**
 * The id of a filtered scope that a caller holds for at least one id. It differs from the values of
 * parameters, and no author writes it in a table.
 */
const SOME_ID = "~some-id-of-scopegate~";

/**
 * Returns whether every caller who satisfies `deciding` at the paths `common` satisfies `other` there too.
 * `false` if that is not certain.
 */
export function implies(
  deciding: PlacedRule,
  other: PlacedRule,
  common: Segments,
  rules: ImplicationRules,
): boolean {
  const asked = enforcedBy(other.compiled, rules);
  if (asked.kind === "public") return true;
  const enforced = enforcedBy(deciding.compiled, rules);
  if (enforced.kind === "public") return false;
  if (asked.kind === "optional") return true;
  if (enforced.kind === "optional") return false;
  const parameter = valuesOf(other.segments, common, "other");
  return leastGrants(enforced, valuesOf(deciding.segments, common, "deciding")).every((scopes) =>
    isMet(asked, { parameter }, new GrantedScopes(scopes, rules.scopeRules)),
  );
}

/** A report-only rule enforces a valid token, and nothing else. */
function enforcedBy(
  { rule, requirement }: CompiledRule,
  { isReportOnly }: ImplicationRules,
): CompiledRequirement {
  return rule.enforcement === "report" && !isReportOnly ? { kind: "allOf", scopes: [] } : requirement;
}

/** The smallest sets of scopes that satisfy a requirement: a caller who satisfies it covers one of them. */
function leastGrants(
  requirement: Exclude<CompiledRequirement, { kind: "public" | "optional" }>,
  parameter: (name: string) => string,
): readonly (readonly string[])[] {
  if (requirement.kind === "filtered") return [[`${requirement.resource}:${SOME_ID}:${requirement.action}`]];
  const scopes = requirement.scopes.map((scope) => bindScope(scope, parameter).text);
  return requirement.kind === "anyOf" ? scopes.map((scope) => [scope]) : [scopes];
}

/**
 * Returns a value for each parameter of a rule at some paths: equal for parameters of two rules that are
 * certain to have the same value in every request. Segments after a wildcard have no fixed position.
 */
function valuesOf(segments: Segments, common: Segments, owner: string): (name: string) => string {
  return (name) => {
    const index = segments.findIndex((segment) => segment.kind === "parameter" && segment.name === name);
    const isFixed = index >= 0 && [segments, common].every((path) => !hasWildcardUntil(path, index));
    if (!isFixed) return `~${owner}.${name}-of-scopegate~`;
    const segment = common[index];
    return segment?.kind === "static" ? decodeSegment(segment.text) : `~segment-${index}-of-scopegate~`;
  };
}

const hasWildcardUntil = (path: Segments, index: number): boolean =>
  path.slice(0, index + 1).some(({ kind }) => kind === "wildcard");
