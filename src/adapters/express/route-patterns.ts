/** The whole patterns of a route, from the root of the application, for one request. */
import type { Pipeline } from "../../core/pipeline.ts";
import { EXPRESSION } from "../../core/policy/pattern-text.ts";
import type { ComparableRoute } from "../../core/policy/route-comparison.ts";
import type { RoutePattern } from "../../core/policy/table.ts";
import { readPath } from "../../core/request.ts";
import { withMounts } from "./mounts.ts";
import type { ExpressRequest } from "./request.ts";
import { type ExpressRoute, toPatterns } from "./router.ts";

/** Returns the patterns of a route for this request, with the mounts that the request has passed. */
export function patternsAt(
  request: ExpressRequest,
  route: ExpressRoute,
  pipeline: Pipeline,
): readonly RoutePattern[] {
  const paths = readRoute(route, pipeline);
  const matched = paths.length === 1 ? paths : firstMatching(paths, request.url, pipeline);
  const patterns = matched.map(({ pattern }) => pattern);
  return request.baseUrl ? withMounts(request, patterns, pipeline) : patterns;
}

/** One of the paths that a route is written with. */
interface RoutePath {
  readonly pattern: string;
  /** None for an unreadable path. */
  readonly alternatives: readonly ComparableRoute[];
}

const pathsOf = new WeakMap<ExpressRoute, readonly RoutePath[]>();

function readRoute(
  route: ExpressRoute,
  { patterns: { parsePattern, comparableRoute } }: Pipeline,
): readonly RoutePath[] {
  const remembered = pathsOf.get(route);
  if (remembered) return remembered;
  const paths = (toPatterns(route.path) ?? [EXPRESSION]).map((path): RoutePath => {
    const pattern = path || "/";
    const parsed = parsePattern(pattern);
    const alternatives = "alternatives" in parsed ? parsed.alternatives : [];
    return { pattern, alternatives: alternatives.map(({ segments }) => comparableRoute(segments)) };
  });
  pathsOf.set(route, paths);
  return paths;
}

/**
 * Returns the paths that some router matches, up to the first one that every router matches, because Express
 * uses the first match. Unreadable paths may match too. If no path matches, all are returned.
 */
function firstMatching(
  paths: readonly RoutePath[],
  url: string,
  { patterns: { ComparablePath } }: Pipeline,
): readonly RoutePath[] {
  const path = readPath(url);
  const compared = path && new ComparablePath(path);
  const matched: RoutePath[] = [];
  let isMatched = false;
  for (const routePath of paths) {
    const results = routePath.alternatives.flatMap((route) => compared?.compareWith(route) ?? []);
    if (results.length > 0) isMatched = true;
    if (results.length > 0 || routePath.alternatives.length === 0) matched.push(routePath);
    if (results.includes("exact")) break;
  }
  return isMatched ? matched : paths;
}
