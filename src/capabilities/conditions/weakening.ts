/** Whether a rule that replaces another one weakens its conditions. */
import type { ConditionedRule, Conditions } from "../../core/policy/conditions.ts";
import { namesOf, type Pattern } from "../../core/policy/pattern.ts";
import type { RequiredScope } from "../../core/scopes/required-scope.ts";

/** Returns whether a rule lacks a condition of another rule, has a wider one, or makes another exception. */
export function areWeaker(replacing: ConditionedRule, base: ConditionedRule): boolean {
  const written = withPlaces(replacing);
  const baseWritten = withPlaces(base);
  const { maxAuthAgeSeconds = Infinity } = written;
  const { maxAuthAgeSeconds: baseAge = Infinity } = baseWritten;
  const isChanged = (name: keyof Conditions): boolean =>
    JSON.stringify(written[name]) !== JSON.stringify(baseWritten[name]);
  const isLost = (Object.keys(baseWritten) as (keyof Conditions)[]).some(
    (name) => !COMPARED_BY_VALUE.includes(name) && isChanged(name),
  );
  const hasException = EXCEPTIONS.some((name) => written[name] !== undefined && isChanged(name));
  const also = placedScopes(replacing, alsoOf(replacing));
  const losesScope = placedScopes(base, alsoOf(base)).some((scope) => !also.includes(scope));
  return isLost || losesScope || hasException || maxAuthAgeSeconds > baseAge;
}

const EXCEPTIONS = ["unless", "except"] as const;
/** Any other condition must be repeated as it is. */
const COMPARED_BY_VALUE: readonly string[] = ["also", "maxAuthAgeSeconds", ...EXCEPTIONS];

/** Returns the conditions of a rule. `where` and `unless` have the places of parameters, not their names. */
function withPlaces(rule: ConditionedRule): Omit<Conditions, "unless"> & { readonly unless?: unknown } {
  const { written = {}, unless } = rule.conditions ?? {};
  const placed = Object.entries(written.where ?? {}).map(
    ([name, source]) => [placeOf(name, rule.pattern), source] as const,
  );
  return {
    ...written,
    ...(written.where && { where: Object.fromEntries(placed) }),
    ...(written.unless && unless && { unless: { ...unless, scopes: placedScopes(rule, unless.scopes) } }),
  };
}

const alsoOf = ({ conditions }: ConditionedRule): readonly RequiredScope[] => conditions?.also.scopes ?? [];

/** Returns scopes with the places of parameters instead of their names. */
const placedScopes = ({ pattern }: ConditionedRule, scopes: readonly RequiredScope[]): readonly string[] =>
  scopes.map(({ text, template }) =>
    template?.parameter === undefined
      ? text
      : `${template.resource}:<${placeOf(template.parameter, pattern)}>:${template.action}`,
  );

const placeOf = (name: string, { alternatives }: Pattern): string =>
  String(alternatives[0]?.segments.findIndex((segment) => namesOf(segment).includes(name)) ?? name);
