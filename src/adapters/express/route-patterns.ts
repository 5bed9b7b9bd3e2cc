/** The whole patterns of a route, from the root of the application, for one request. */
import { isPattern, parsePattern } from "../../core/policy/parse-pattern.ts";
import { EXPRESSION } from "../../core/policy/render-pattern.ts";
import { ComparablePath, type ComparableRoute, comparableRoute } from "../../core/policy/route-comparison.ts";
import { type RoutePattern } from "../../core/policy/table.ts";
import { readPath } from "../../core/request.ts";
import { readProperty } from "../shared/node-request.ts";
import { withMounts } from "./mounts.ts";
import { type ExpressRequest } from "./request.ts";
import { type ExpressRoute, toPatterns } from "./router.ts";

/** Returns the patterns of a route for this request, with the mounts that the request has passed. */
export function patternsAt(request: ExpressRequest, route: ExpressRoute): readonly RoutePattern[] {
  const own = readRoute(route);
  const matched = own.length === 1 ? own : firstFitting(own, readProperty(request, "url"));
  const patterns = matched.map(({ pattern }) => pattern);
  return readProperty(request, "baseUrl") ? withMounts(request, patterns) : patterns;
}

/** One of the paths that a route is written with. */
interface OwnPath {
  readonly pattern: string;
  /** None for an unreadable path. */
  readonly alternatives: readonly ComparableRoute[];
}

const ownPathsOf = new WeakMap<ExpressRoute, readonly OwnPath[]>();

function readRoute(route: ExpressRoute): readonly OwnPath[] {
  const known = ownPathsOf.get(route);
  if (known) return known;
  const paths = (toPatterns(route.path) ?? [EXPRESSION]).map((path): OwnPath => {
    const pattern = path || "/";
    const parsed = parsePattern(pattern);
    const alternatives = isPattern(parsed) ? parsed.alternatives : [];
    return { pattern, alternatives: alternatives.map(({ segments }) => comparableRoute(segments)) };
  });
  ownPathsOf.set(route, paths);
  return paths;
}

/**
 * Returns the paths that some router matches, up to the first one that every router matches, because Express
 * uses the first match. Unreadable paths may match too. If no path matches, all are returned.
 */
function firstFitting(paths: readonly OwnPath[], url: string): readonly OwnPath[] {
  const path = readPath(url);
  const compared = path && new ComparablePath(path);
  const matched: OwnPath[] = [];
  let isFitting = false;
  for (const own of paths) {
    const fits = own.alternatives.flatMap((one) => compared?.compareWith(one) ?? []);
    if (fits.length > 0) isFitting = true;
    if (fits.length > 0 || own.alternatives.length === 0) matched.push(own);
    if (fits.includes("exact")) break;
  }
  return isFitting ? matched : paths;
}
