/** Whether a rule that replaces another one weakens its conditions. */
import type { ConditionedRule, Conditions } from "../../core/policy/conditions.ts";
import { namesOf, type Pattern } from "../../core/policy/pattern.ts";

/** Returns whether a rule lacks a condition of another rule, has a wider one, or makes another exception. */
export function areWeaker(replacing: ConditionedRule, base: ConditionedRule): boolean {
  const written = withPlaces(replacing);
  const baseWritten = withPlaces(base);
  const { maxAuthAgeSeconds = Infinity } = written;
  const { maxAuthAgeSeconds: baseAge = Infinity } = baseWritten;
  const isChanged = (name: keyof Conditions): boolean =>
    JSON.stringify(written[name]) !== JSON.stringify(baseWritten[name]);
  const isLost = LASTING.some((name) => baseWritten[name] !== undefined && isChanged(name));
  const hasException = EXCEPTIONS.some((name) => written[name] !== undefined && isChanged(name));
  const also = placedScopes(replacing);
  const losesScope = placedScopes(base).some((scope) => !also.includes(scope));
  return isLost || losesScope || hasException || maxAuthAgeSeconds > baseAge;
}

const LASTING = ["where", "actors", "clients", "senderConstrained", "acr"] as const;
const EXCEPTIONS = ["unless", "except"] as const;

/** Returns the conditions of a rule. In `where`, the names of parameters are replaced by their places. */
function withPlaces({ conditions, pattern }: ConditionedRule): Conditions {
  const { written = {} } = conditions ?? {};
  const { where } = written;
  if (!where) return written;
  const placed = Object.entries(where).map(([name, source]) => [placeOf(name, pattern), source] as const);
  return { ...written, where: Object.fromEntries(placed) };
}

/** Returns the scopes of `also`, with the places of parameters instead of their names. */
const placedScopes = ({ conditions, pattern }: ConditionedRule): readonly string[] =>
  (conditions?.also.scopes ?? []).map(({ text, template }) =>
    template?.parameter === undefined
      ? text
      : `${template.resource}:<${placeOf(template.parameter, pattern)}>:${template.action}`,
  );

const placeOf = (name: string, { alternatives }: Pattern): string =>
  String(alternatives[0]?.segments.findIndex((segment) => namesOf(segment).includes(name)) ?? name);
