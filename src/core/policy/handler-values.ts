/**
 * Compares what rules have read from the path with what the handler of the route receives. Where a router
 * decodes differently, or middleware changes parameters, a rule would otherwise allow the tenant `acme+corp`,
 * and the handler would return the data of `acme corp`.
 */
import { indexIn, type ParameterSource, parametersOf } from "./parameters.ts";
import type { Restrictions } from "./restrictions.ts";
import type { RuleMatch } from "./rule.ts";
import type { LeafMatch } from "./rule-tree.ts";

/** Returns an object with this parameter as the handler receives it. Only called if a rule uses it. */
export type ReadHandlerValues = (name: string) => object | undefined;

interface RequestRules {
  readonly matches: readonly LeafMatch[];
  readonly restrictions: Restrictions;
}

/** Returns whether a rule for a request reads a parameter from its path. Most rules don't. */
export const readsPath = ({ matches, restrictions }: RequestRules): boolean =>
  restrictions.active.length > 0 || matches.some(({ source }) => source !== undefined);

/** Returns whether the handler of a route receives another value than a rule has read. */
export function hasOtherValue(
  rules: RequestRules,
  routes: readonly ParameterSource[],
  readHandlerValues: ReadHandlerValues | undefined,
): boolean {
  if (!readHandlerValues || !readsPath(rules)) return false;
  const { matches, restrictions } = rules;
  const isOther = (match: RuleMatch, names: readonly string[]): boolean =>
    names.some((name) => routes.some((route) => differs(match, name, route, readHandlerValues)));
  return (
    matches.some((match) => match.leaf !== undefined && isOther(match, match.leaf.templates)) ||
    restrictions.active.some((restriction) => isOther(restriction, restriction.conditions.parameters))
  );
}

/** Compares by place, because rules and routes name their parameters differently. */
function differs(
  { source, parameter: read }: RuleMatch,
  name: string,
  route: ParameterSource,
  readHandlerValues: ReadHandlerValues,
): boolean {
  const parameter = source && parametersOf(source.segments).get(name);
  // Each name of a batch is a path of its own, which no parameter of the route contains.
  if (!parameter || parameter.segment.kind === "wildcard" || source.path.text !== route.path.text)
    return false;
  const index = indexIn(source.path, parameter);
  for (const [handlerName, other] of parametersOf(route.segments)) {
    // Other static parts of a segment leave another value.
    if (other.identity !== parameter.identity || indexIn(route.path, other) !== index) continue;
    const values = readHandlerValues(handlerName);
    const value: unknown = values && Object.hasOwn(values, handlerName) && Reflect.get(values, handlerName);
    const isComparable = typeof value === "string" || Number.isSafeInteger(value);
    // Only grants for every id cover an empty value.
    return isComparable && read(name) !== "" && read(name) !== String(value);
  }
  return false;
}
