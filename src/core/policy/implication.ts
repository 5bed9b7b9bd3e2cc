/** Whether one rule implies another: every caller who satisfies the first also satisfies the second. */
import { bindScope } from "../scopes/required-scope.ts";
import { GrantedScopes, type ScopeRules } from "../scopes/scope.ts";
import { namesOf, type PatternSegment } from "./pattern.ts";
import { type CompiledRequirement, VALID_TOKEN } from "./requirement.ts";
import type { CompiledRule } from "./rule.ts";
import { isSatisfied } from "./satisfaction.ts";
import { decodeSegment } from "./segment.ts";

type Segments = readonly PatternSegment[];

/** A rule, and the segments of one of its alternatives. */
interface PlacedRule {
  readonly compiled: CompiledRule;
  readonly segments: Segments;
  /** The rule that a report-only rule leaves enforced. */
  readonly enforced?: PlacedRule | undefined;
}

/**
 * Stands for the id for which a caller holds a filtered scope. It differs from the values of parameters, and
 * no table contains it.
 */
const SOME_ID = "~some-id-of-scopegate~";

/**
 * Returns whether every caller who satisfies `deciding` at the paths `common` also satisfies `other` there;
 * `false` if that isn't certain. Without `common`, both rules have the same path, so parameters in the same
 * place have one value.
 */
export function implies(
  deciding: PlacedRule,
  other: PlacedRule,
  common: Segments | undefined,
  scopeRules: ScopeRules,
): boolean {
  const otherPlace = enforcedPlace(other);
  const decidingPlace = enforcedPlace(deciding);
  const otherRequirement = enforcedRequirement(otherPlace);
  const decidingRequirement = enforcedRequirement(decidingPlace);
  // From the weakest requirement to the strongest: public, optional, any token.
  if (otherRequirement.kind === "public") return true;
  if (decidingRequirement.kind === "public") return false;
  if (otherRequirement.kind === "optional") return true;
  if (decidingRequirement.kind === "optional") return false;
  const parameter = sampleParameters(otherPlace.segments, common, "other");
  const grants = leastGrants(
    decidingRequirement,
    sampleParameters(decidingPlace.segments, common, "deciding"),
  );
  return grants.every((scopes) =>
    isSatisfied(otherRequirement, parameter, new GrantedScopes(scopes, scopeRules)),
  );
}

const enforcedPlace = (place: PlacedRule): PlacedRule =>
  place.compiled.isReport && place.enforced ? place.enforced : place;

/** A report-only rule enforces a valid token, and nothing else. */
const enforcedRequirement = ({ compiled }: PlacedRule): CompiledRequirement =>
  compiled.isReport ? VALID_TOKEN : compiled.requirement;

/** Returns the smallest sets of scopes for a requirement: a caller who satisfies it covers one of them. */
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
 * value only if they have the same value in every request; `prefix` makes all others different. Segments
 * after a wildcard have no fixed position.
 */
function sampleParameters(
  segments: Segments,
  common: Segments | undefined,
  prefix: string,
): (name: string) => string {
  const names = segments.flatMap(namesOf);
  return (name) => {
    // An argument of an operation has no position, and the same value for both rules.
    if (segments.length === 0) return `~${name}-of-scopegate~`;
    if (!common) return `~parameter-${names.indexOf(name)}-of-scopegate~`;
    const index = segments.findIndex((segment) => segment.kind === "parameter" && segment.name === name);
    const isFixed = index >= 0 && [segments, common].every((path) => !hasWildcardUntil(path, index));
    if (!isFixed) return `~${prefix}.${name}-of-scopegate~`;
    const segment = common[index];
    return segment?.kind === "static" ? decodeSegment(segment.text) : `~segment-${index}-of-scopegate~`;
  };
}

const hasWildcardUntil = (path: Segments, index: number): boolean =>
  path.slice(0, index + 1).some(({ kind }) => kind === "wildcard");
