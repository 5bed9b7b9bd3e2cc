/** Whether one rule implies another: every caller who satisfies the first also satisfies the second. */
import { bindScope } from "../scopes/required-scope.ts";
import { GrantedScopes, type ScopeRules } from "../scopes/scope.ts";
import type { PatternSegment } from "./pattern.ts";
import type { CompiledRequirement } from "./requirement.ts";
import type { CompiledRule } from "./rule.ts";
import { isSatisfied } from "./satisfaction.ts";
import { decodeSegment } from "./segment.ts";

type Segments = readonly PatternSegment[];

/** A rule, and the segments of one of its alternatives. */
interface PlacedRule {
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
  const otherRequirement = enforcedRequirement(other.compiled, rules);
  if (otherRequirement.kind === "public") return true;
  const decidingRequirement = enforcedRequirement(deciding.compiled, rules);
  if (decidingRequirement.kind === "public") return false;
  if (otherRequirement.kind === "optional") return true;
  if (decidingRequirement.kind === "optional") return false;
  const parameter = sampleParameters(other.segments, common, "other");
  const grants = leastGrants(decidingRequirement, sampleParameters(deciding.segments, common, "deciding"));
  return grants.every((scopes) =>
    isSatisfied(otherRequirement, parameter, new GrantedScopes(scopes, rules.scopeRules)),
  );
}

/** A report-only rule enforces a valid token, and nothing else. */
function enforcedRequirement(
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
 * Returns a value for each parameter of a rule at the paths `common`. Parameters of two rules get the same
 * value only if they have it in every request; `prefix` keeps all others apart. Segments after a wildcard
 * have no fixed position.
 */
function sampleParameters(segments: Segments, common: Segments, prefix: string): (name: string) => string {
  return (name) => {
    const index = segments.findIndex((segment) => segment.kind === "parameter" && segment.name === name);
    const isFixed = index >= 0 && [segments, common].every((path) => !hasWildcardUntil(path, index));
    if (!isFixed) return `~${prefix}.${name}-of-scopegate~`;
    const segment = common[index];
    return segment?.kind === "static" ? decodeSegment(segment.text) : `~segment-${index}-of-scopegate~`;
  };
}

const hasWildcardUntil = (path: Segments, index: number): boolean =>
  path.slice(0, index + 1).some(({ kind }) => kind === "wildcard");
