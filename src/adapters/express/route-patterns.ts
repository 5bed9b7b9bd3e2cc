/** The whole patterns of a route, from the root of the application, for one request. */
import { isPattern, parsePattern } from "../../policy/parse-pattern.ts";
import { EXPRESSION } from "../../policy/render-pattern.ts";
import { comparable, ComparablePath, type ComparableRoute } from "../../policy/route-fit.ts";
import { type RoutePattern } from "../../policy/table.ts";
import { readPath } from "../../request.ts";
import { readProperty } from "../node-request.ts";
import { withMounts } from "./mounts.ts";
import { type ExpressRequest } from "./request.ts";
import { type ExpressRoute, toPatterns } from "./router.ts";

/** Returns the patterns of a route for this request, with the mounts that the request has passed. */
export function patternsAt(request: ExpressRequest, route: ExpressRoute): readonly RoutePattern[] {
  const own = readRoute(route);
  const matched = own.paths.length === 1 ? own.paths : firstFitting(own, readProperty(request, "url"));
  return readProperty(request, "baseUrl") ? withMounts(request, matched) : matched;
}

/** The paths that a route is written with, and the alternatives of each; none for an unreadable path. */
interface OwnPaths {
  readonly paths: readonly string[];
  readonly alternatives: readonly (readonly ComparableRoute[])[];
}

const ownPathsOf = new WeakMap<ExpressRoute, OwnPaths>();

function readRoute(route: ExpressRoute): OwnPaths {
  const known = ownPathsOf.get(route);
  if (known) return known;
  const paths = (toPatterns(route.path) ?? [EXPRESSION]).map((pattern) => pattern || "/");
  const alternatives = paths.map((pattern) => {
    const parsed = parsePattern(pattern);
    return isPattern(parsed) ? parsed.alternatives.map(({ segments }) => comparable(segments)) : [];
  });
  const own = { paths, alternatives };
  ownPathsOf.set(route, own);
  return own;
}

/**
 * Returns the paths that some router matches, up to the first one that every router matches, because Express
 * uses the first match. Unreadable paths may match too. If no path matches, all are returned.
 */
function firstFitting({ paths, alternatives }: OwnPaths, url: string): readonly string[] {
  const path = readPath(url);
  if (!path) return paths;
  const compared = new ComparablePath(path);
  const matched: string[] = [];
  let isFitting = false;
  for (const [index, own] of alternatives.entries()) {
    const fits = own.map((one) => compared.fitOf(one));
    if (own.length === 0 || fits.some((fit) => fit !== undefined)) matched.push(paths[index] ?? "");
    if (fits.some((fit) => fit !== undefined)) isFitting = true;
    if (fits.includes("exact")) break;
  }
  return isFitting ? matched : paths;
}
