/**
 * Compares what rules have read from the path with what the handler of the route receives. Where a router
 * decodes differently, or middleware changes parameters, a rule would otherwise allow the tenant `acme+corp`,
 * and the handler would return the data of `acme corp`.
 */
import type { GoverningRules } from "./governing.ts";
import { alignSegments, findParameter, type ParameterSource } from "./parameters.ts";
import { namesOf, segmentIdentity } from "./pattern.ts";
import { templatesOf } from "./requirement.ts";
import type { RuleMatch } from "./rule.ts";

/** How the handler of a route receives parameters. Nothing is called unless a rule uses one. */
export interface HandlerValues {
  /** Returns a parameter as the handler receives it; `undefined` if it receives none of this name. */
  readonly readValue?: (name: string) => unknown;
  /** Returns whether the router reads `+` in a path as a space. */
  readonly isPlusSpace?: () => boolean;
}

/** Stands for parameters whose names aren't known, because the pattern of the route isn't. */
export const UNKNOWN = "?";

type RequestRules = Pick<GoverningRules, "matches" | "restrictions">;

/** Returns whether a rule for a request reads a parameter from its path. Most rules don't. */
export const readsPath = ({ matches, restrictions }: RequestRules): boolean =>
  restrictions().active.length > 0 || matches.some(({ source }) => source !== undefined);

/** Returns whether the handler of a route receives another value than a rule has read. */
export function hasOtherValue(
  rules: RequestRules,
  routes: readonly ParameterSource[],
  handlerValues: HandlerValues,
): boolean {
  if (!handlerValues.readValue || !readsPath(rules)) return false;
  const receivesAny = (match: RuleMatch, names: readonly string[]): boolean => {
    for (const name of names)
      for (const route of routes) if (receivesOther(match, name, route, handlerValues)) return true;
    return false;
  };
  for (const match of rules.matches)
    if (receivesAny(match, match.leaf?.templates ?? templatesOf(match.compiled.requirement))) return true;
  return rules.restrictions().active.some((match) => receivesAny(match, match.conditions.parameters));
}

/** Compares by place, because rules and routes name their parameters differently. */
function receivesOther(
  { source }: RuleMatch,
  ruleName: string,
  route: ParameterSource,
  { readValue, isPlusSpace }: HandlerValues,
): boolean {
  const parameter = source && findParameter(source, ruleName);
  // Each name of a batch is a path of its own, which no parameter of the route contains.
  if (!parameter || source.path.text !== route.path.text) return false;
  const { segment, index, text, value: ruleValue } = parameter;
  // The handler receives a space, however the route divides the path.
  if (text.includes("+") && isPlusSpace?.()) return true;
  // The rule has read no value, so only a grant for every id allows the request.
  if (ruleValue === "") return false;

  const aligned = alignSegments(route);
  const routeSegment = aligned[index];
  if (!routeSegment) return false;
  const part = routeSegment.kind === "wildcard" ? index - aligned.indexOf(routeSegment) : undefined;
  const isWhole = part !== undefined && segment.kind === "parameter";
  const isSamePlace = isWhole || segmentIdentity(routeSegment) === segmentIdentity(segment);
  const differs = (name: string, value: unknown, isCompared: boolean): boolean => {
    if (value === ruleValue) return false;
    // A handler receives one value for a repeated name, so the one that the rule has read may be hidden.
    const isRepeated = route.segments.flatMap(namesOf).filter((each) => each === name).length > 1;
    if (!isCompared && !isRepeated) return false;
    // Middleware may have converted the value to an object, which can't be compared.
    const isPrimitive = ["string", "number", "bigint"].includes(typeof value);
    return isPrimitive ? String(value) !== ruleValue : value !== undefined && isRepeated;
  };
  const names = namesOf(routeSegment);
  if (names.some((name) => differs(name, partOf(readValue?.(name), part), isSamePlace))) return true;
  // The place of a group of a regular expression isn't known, so only its name can be compared.
  return names.includes(UNKNOWN) && differs(ruleName, readValue?.(ruleName), true);
}

/** Returns one part of a wildcard's value, which is an array or has slashes; otherwise the whole value. */
function partOf(value: unknown, part: number | undefined): unknown {
  if (part === undefined) return value;
  const parts: unknown = typeof value === "string" ? value.split("/") : value;
  return Array.isArray(parts) ? (parts[part] ?? "") : value;
}
