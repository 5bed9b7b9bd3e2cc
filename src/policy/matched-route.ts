import { decodeSegment, endOfSegment, type Path } from "../path.ts";
import { type AccessRequest, type PathSegments, segmentsOf } from "../request.ts";
import { type Alternative, compareNarrowness, type Filling, findFilling } from "./containment.ts";
import { isPattern, parsePattern, type Pattern, type SegmentPart } from "./pattern.ts";
import { inLowerCase } from "./plain-pattern.ts";
import { RouteIndex } from "./route-index.ts";
import { type CompiledRule, methodsAsked, type RuleMatch } from "./rule.ts";
import { type Replacements } from "./segment-trie.ts";

type Params = NonNullable<AccessRequest["params"]>;

/** A rule that covers a route, with what fills its parameters for each alternative of the route. */
interface Coverage {
  readonly compiled: CompiledRule;
  readonly narrowest: Alternative;
  readonly fillings: readonly RouteFilling[];
}

/** What fills the parameters of a rule when one alternative of the route was matched. */
interface RouteFilling {
  readonly route: Alternative;
  readonly names: readonly string[];
  readonly filling: Filling;
}

/** A route that a framework matched, and the rule that decides for all of it. */
export interface MatchedRoute {
  readonly compiled: CompiledRule;
  readonly match: (params: Params | undefined, path: Path) => RuleMatch;
  /** Whether another rule is for a part of the route: each of its paths is one of the route's. */
  readonly contains: (other: CompiledRule) => boolean;
  /** Whether some rule of the table is. */
  readonly hasParts: boolean;
}

/**
 * The narrowest rule that covers the whole of a matched pattern; `undefined` where none does, and where the pattern
 * cannot be read. With `ignoreCase` the router takes texts in another case for the same.
 */
export function findMatchedRoute(
  rules: readonly CompiledRule[],
  method: string,
  matchedPattern: string,
  ignoreCase = false,
): MatchedRoute | undefined {
  const pattern = parsePattern(matchedPattern);
  if (!isPattern(pattern)) return undefined;
  const routes = pattern.alternatives.map(withoutTrailingSlash);
  const coverage = methodsAsked(method)
    .map((asked) =>
      findNarrowest(
        rules.filter(({ rule }) => rule.method === asked),
        routes,
        ignoreCase,
      ),
    )
    .find((found) => found !== undefined);
  if (!coverage) return undefined;
  const { compiled } = coverage;
  const reader = createParamsReader(compiled, pattern, ignoreCase);
  const contains = (other: CompiledRule): boolean =>
    other.pattern.alternatives.every((part) =>
      routes.some((route) => findFilling(route, withoutTrailingSlash(part), ignoreCase) !== undefined),
    );
  return {
    compiled,
    contains,
    hasParts: rules.some((other) => other !== compiled && contains(other)),
    match: (params, path) => ({
      compiled,
      parameter: (name) => fillParameter(coverage, path, params ?? reader(path.text), name),
    }),
  };
}

function findNarrowest(
  rules: readonly CompiledRule[],
  routes: readonly Alternative[],
  ignoreCase: boolean,
): Coverage | undefined {
  return rules
    .map((compiled) => findCoverage(compiled, routes, ignoreCase))
    .filter((coverage) => coverage !== undefined)
    .sort((a, b) => compareNarrowness(a.narrowest, b.narrowest))[0];
}

function findCoverage(
  compiled: CompiledRule,
  routes: readonly Alternative[],
  ignoreCase: boolean,
): Coverage | undefined {
  const covering = compiled.pattern.alternatives.map(withoutTrailingSlash).sort(compareNarrowness);
  const fillings: RouteFilling[] = [];
  let narrowest: Alternative | undefined;
  for (const route of routes) {
    const alternative = covering.find((one) => findFilling(one, route, ignoreCase));
    const filling = alternative && findFilling(alternative, route, ignoreCase);
    if (!filling) return undefined;
    narrowest ??= alternative;
    fillings.push({ route, names: parameterNames(filling), filling });
  }
  return narrowest && { compiled, narrowest, fillings };
}

/** A router that told its match told it with or without the trailing slash: the rule for both is one. */
export function withoutTrailingSlash(alternative: Alternative): Alternative {
  const last = alternative.at(-1);
  return last?.kind === "static" && last.text === "" ? alternative.slice(0, -1) : alternative;
}

const parameterNames = (filling: Filling): readonly string[] =>
  [...filling.values()].flatMap((segments) =>
    segments.flatMap((parts) => parts.flatMap((part) => (typeof part === "string" ? [] : [part.name]))),
  );

/** The value of a parameter; empty, which only a grant for every id covers, where it cannot be told. */
function fillParameter({ fillings }: Coverage, path: Path, params: Params, name: string): string {
  const given = fillings.filter(({ names }) => names.every((one) => readParam(params, one) !== undefined));
  const taken =
    fillings.length === 1 ? given : given.filter(({ route }) => hasLength(segmentsOf(path), route));
  const [value = "", ...others] = taken.map(({ filling }) => renderFilling(filling.get(name) ?? [], params));
  return others.every((other) => other === value) ? value : "";
}

function renderFilling(segments: readonly (readonly SegmentPart[])[], params: Params): string {
  let text = "";
  for (const [index, parts] of segments.entries()) {
    if (index > 0) text += "/";
    for (const part of parts)
      text += (typeof part === "string" ? decodeSegment(part) : readParam(params, part.name)) ?? "";
  }
  return text;
}

/** Of several alternatives the one that was matched has as many segments as the path. */
function hasLength(path: PathSegments, route: Alternative): boolean {
  const length = path.at(-1) === "" ? [path.length - 1, path.length] : [path.length];
  const hasWildcard = route.some(({ kind }) => kind === "wildcard");
  return length.some((one) => (hasWildcard ? one >= route.length : one === route.length));
}

function readParam(params: Params, name: string): string | undefined {
  const value = Object.hasOwn(params, name) ? params[name] : undefined;
  return typeof value === "object" ? value.join("/") : value;
}

/** Where a framework tells its pattern and no parameters, they are read from the path. */
function createParamsReader(
  compiled: CompiledRule,
  pattern: Pattern,
  ignoreCase: boolean,
): (path: string) => Params {
  const alternatives = ignoreCase ? pattern.alternatives.map(inLowerCase) : pattern.alternatives;
  const rule = { ...compiled.rule, method: "*" };
  const index = new RouteIndex([{ ...compiled, rule, pattern: { ...pattern, alternatives } }]);
  const find = (path: string) => index.find("*", path, ignoreCase ? segmentsInLowerCase(path) : undefined);
  return (path) => {
    const hasSlash = path !== "/" && path.endsWith("/");
    const match = find(path) ?? (hasSlash ? find(path.slice(0, -1)) : undefined);
    // What routers cut in different places is nobody's parameter.
    const certain = match?.isCertain ? match : undefined;
    return Object.fromEntries([...pattern.parameters].map((name) => [name, certain?.parameter(name)]));
  };
}

/** Only what is compared: parameters keep their letter case. */
function segmentsInLowerCase(path: string): Replacements {
  const replacements = new Map<number, string>();
  for (let slash = 0; slash < path.length;) {
    const end = endOfSegment(path, slash + 1);
    replacements.set(slash, path.slice(slash + 1, end).toLowerCase());
    slash = end;
  }
  return replacements;
}
