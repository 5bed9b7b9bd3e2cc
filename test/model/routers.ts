/** How routers read paths and choose routes. `routers.test.ts` compares these models with the real routers. */
import { remember } from "./helpers.ts";
import { alternativesOf, matchSegments } from "./specification.ts";

/** How a router reads a path before it compares it with a route. */
export interface Reading {
  readonly ignoresCase: boolean;
  readonly ignoresSlash: boolean;
  readonly decodes: boolean;
  /** What matches the empty text after the last slash. */
  readonly matchesEmpty: "nothing" | "wildcards" | "parameters and wildcards";
  /** Whether several slashes count as one. The library refuses such a path, whatever its router does. */
  readonly mergesSlashes: boolean;
}

/** A reading, and which of several routes runs: the first that was registered, or the narrowest. */
export interface RouterModel extends Reading {
  readonly order: "first" | "narrowest";
}

export const STRICTEST: Reading = {
  ignoresCase: false,
  ignoresSlash: false,
  decodes: false,
  matchesEmpty: "nothing",
  mergesSlashes: false,
};

const BOTH = [false, true];
const EMPTY = ["nothing", "wildcards", "parameters and wildcards"] as const;

/** Every combination, except merged slashes: the library refuses these paths. */
export const READINGS: readonly Reading[] = BOTH.flatMap((ignoresCase) =>
  BOTH.flatMap((ignoresSlash) =>
    BOTH.flatMap((decodes) =>
      EMPTY.map((matchesEmpty) => ({ ...STRICTEST, ignoresCase, ignoresSlash, decodes, matchesEmpty })),
    ),
  ),
);

/** Returns whether a router that reads paths in this way matches a path to a route. */
export function isRouteFor(pattern: string, path: string, reading: Reading): boolean {
  const parts = segmentsOf(reading.mergesSlashes ? path.replace(/\/+/g, "/") : path);
  return alternativesOf(pattern).some(({ segments, hasSlash }) => {
    const route = hasSlash || segments.length === 0 ? [...segments, ""] : segments;
    // Routers that match empty values have wildcards at the end only.
    const hasInnerWildcard = segments.slice(0, -1).some((segment) => segment.startsWith("*"));
    const routeReading: Reading = hasInnerWildcard ? { ...reading, matchesEmpty: "nothing" } : reading;
    if (isMatch(route, parts, routeReading)) return true;
    if (!reading.ignoresSlash) return false;
    const withoutSlash = parts.at(-1) === "" ? parts.slice(0, -1) : parts;
    return isMatch(segments, withoutSlash, routeReading) || isMatch(segments, parts, routeReading);
  });
}

/** The last segment is empty after a slash at the end. */
const segmentsOf = (path: string): readonly string[] => path.slice(1).split("/");

function isMatch(route: readonly string[], path: readonly string[], reading: Reading): boolean {
  const [segment, ...routeRest] = route;
  const [part, ...pathRest] = path;
  if (segment === undefined || part === undefined) return segment === part;
  const isWildcard = segment.startsWith("*");
  const isParameter = /^:\w+$/.test(segment);
  const isEmptyAllowed = pathRest.length === 0 && mayBeEmpty(isWildcard, reading);
  if ((isWildcard || isParameter) && part === "" && !isEmptyAllowed) return false;
  // A wildcard at the end takes everything that is left.
  if (isWildcard && routeRest.length === 0) return true;
  if (!isWildcard && !isParameter && !matchesText(segment, part, reading)) return false;
  return isMatch(routeRest, pathRest, reading) || (isWildcard && isMatch(route, pathRest, reading));
}

const mayBeEmpty = (isWildcard: boolean, { matchesEmpty }: Reading): boolean =>
  matchesEmpty === "parameters and wildcards" || (matchesEmpty === "wildcards" && isWildcard);

/** Compares text, which may have parameters in it. */
function matchesText(segment: string, part: string, { ignoresCase, decodes }: Reading): boolean {
  return regularExpressionFor(segment, ignoresCase, decodes).test(decodes ? decodeURIComponent(part) : part);
}

const regularExpressionFor = remember((segment: string, ignoresCase: boolean, decodes: boolean) => {
  const texts = segment
    .split(/:\w+/)
    .map((text) => (decodes ? decodeURIComponent(text) : text))
    .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${texts.join(".+")}$`, ignoresCase ? "i" : "");
});

/** Returns the route whose handler runs; `undefined` if none does. */
export function matchedRoute(
  routes: readonly string[],
  path: string,
  model: RouterModel,
): string | undefined {
  const matching = routes.filter((route) => isRouteFor(route, path, model));
  if (model.order === "first") return matching[0];
  return matching.toSorted((a, b) => (sortKeyOf(a, path) < sortKeyOf(b, path) ? -1 : 1))[0];
}

/** A sort key that is smaller for a narrower route. The path must be spelled as the routes are. */
function sortKeyOf(route: string, path: string): string {
  const segments = segmentsOf(path);
  const ranks = alternativesOf(route).flatMap(
    (alternative) => matchSegments(alternative.segments, segments)?.ranks.join() ?? [],
  );
  return ranks.toSorted()[0] ?? "";
}
