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

/** The name of the parameters that a route may have where its pattern isn't known. */
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
  const isOther = (match: RuleMatch, names: readonly string[]): boolean => {
    for (const name of names)
      for (const route of routes) if (receivesOther(match, name, route, handlerValues)) return true;
    return false;
  };
  for (const match of rules.matches)
    if (isOther(match, match.leaf?.templates ?? templatesOf(match.compiled.requirement))) return true;
  return rules.restrictions().active.some((one) => isOther(one, one.conditions.parameters));
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
  // However the route divides the path, the handler reads the space.
  if (text.includes("+") && isPlusSpace?.()) return true;
  // Only grants for every id cover an empty value.
  if (ruleValue === "") return false;

  const aligned = alignSegments(route);
  const routeSegment = aligned[index];
  if (!routeSegment) return false;
  const part = routeSegment.kind === "wildcard" ? index - aligned.indexOf(routeSegment) : undefined;
  // Other static parts of a segment leave another value.
  const isSame = part !== undefined || segmentIdentity(routeSegment) === segmentIdentity(segment);
  const isOther = (name: string, value: unknown, isCompared: boolean): boolean => {
    if (value === ruleValue) return false;
    // A handler receives one value for a repeated name, so the one that the rule has read may be hidden.
    const isRepeated = route.segments.flatMap(namesOf).filter((each) => each === name).length > 1;
    return ["string", "number", "bigint"].includes(typeof value)
      ? (isCompared || isRepeated) && String(value) !== ruleValue
      : value !== undefined && isRepeated;
  };
  const names = namesOf(routeSegment);
  if (names.some((name) => isOther(name, partOf(readValue?.(name), part), isSame))) return true;
  // The place of a group of a regular expression isn't known, so only its name can be compared.
  return names.includes(UNKNOWN) && isOther(ruleName, readValue?.(ruleName), true);
}

/** Returns one part of a wildcard's value, which is an array or has slashes; otherwise the whole value. */
function partOf(value: unknown, part: number | undefined): unknown {
  if (part === undefined) return value;
  const parts: unknown = typeof value === "string" ? value.split("/") : value;
  return Array.isArray(parts) ? (parts[part] ?? "") : value;
}
