/** Whether one rule implies another: every caller who satisfies the first also satisfies the second. */
import { bindScope, isForSomeIds } from "../scopes/required-scope.ts";
import { GrantedScopes, type ScopeRules } from "../scopes/granted-scopes.ts";
import type { CompiledTable } from "./compile-rules.ts";
import type { PlacedRule, Requests } from "./condition-language.ts";
import { namesOf, type PatternSegment, textBehind } from "./pattern.ts";
import type { CompiledRequirement } from "./requirement.ts";
import { isSatisfied } from "./satisfaction.ts";
import { decodeSegment } from "./segment.ts";

type Segments = readonly PatternSegment[];

/** A table with what decides which rule implies another. */
export type CheckedTable = CompiledTable & { readonly scopeRules: ScopeRules };

/**
 * Stands for the id for which a caller holds a scope with `<any>`. It differs from the values of parameters,
 * and no table contains it.
 */
const SOME_ID = "~some-id-of-scopegate~";

/**
 * Returns whether every caller of these requests whom `deciding` allows, with the `also` of all rules, also
 * satisfies the requirement of `other`; `false` if that isn't certain.
 */
export function implies(
  deciding: PlacedRule,
  other: PlacedRule,
  requests: Requests,
  { scopeRules, conditioned }: Pick<CheckedTable, "scopeRules" | "conditioned">,
): boolean {
  const otherRequirement = other.compiled.requirement;
  const decidingRequirement = deciding.compiled.requirement;
  // From the weakest requirement to the strongest: public, optional, any token.
  if (otherRequirement.kind === "public") return true;
  if (decidingRequirement.kind === "public") return false;
  if (otherRequirement.kind === "optional") return true;
  if (decidingRequirement.kind === "optional") return false;
  const sample = (segments: Segments) => sampleParameters(segments, requests.segments);
  const parameter = sample(other.segments);
  const grants = leastGrants(decidingRequirement, sample(deciding.segments));
  const also = conditioned?.alsoAt(deciding, requests, sample) ?? [];
  return grants.every((scopes) =>
    isSatisfied(otherRequirement, parameter, new GrantedScopes([...scopes, ...also], scopeRules)),
  );
}

/** Returns the smallest sets of scopes for a requirement: a caller who satisfies it covers one of them. */
function leastGrants(
  requirement: Exclude<CompiledRequirement, { kind: "public" | "optional" }>,
  parameter: (name: string) => string,
): readonly (readonly string[])[] {
  const scopes = requirement.scopes.map((scope) =>
    isForSomeIds(scope) ? scope.text.replace(":<any>:", `:${SOME_ID}:`) : bindScope(scope, parameter).text,
  );
  return requirement.kind === "anyOf" ? scopes.map((scope) => [scope]) : [scopes];
}

/**
 * Returns a value for each parameter of a rule at the paths `common`. Parameters of two rules get the same
 * value only if they have the same value in every request.
 */
function sampleParameters(segments: Segments, common: Segments): (name: string) => string {
  return (name) => {
    // An argument of an operation has no position, and the same value for both rules.
    if (segments.length === 0) return `~${name}-of-scopegate~`;
    const index = segments.findIndex((segment) => namesOf(segment).includes(name));
    const [segment, sample] = [segments[index], common[index]];
    if (!segment || !sample) return "";
    const text =
      sample.kind === "static" ? sample.text : `~segment-${index}-of-scopegate~${textBehind(sample)}`;
    return decodeSegment(text.slice(0, text.length - textBehind(segment).length));
  };
}
