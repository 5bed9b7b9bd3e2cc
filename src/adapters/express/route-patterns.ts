/** The whole patterns of a route, from the root of the application, for one request. */
import { isPattern, parsePattern } from "../../policy/parse-pattern.ts";
import { EXPRESSION } from "../../policy/render-pattern.ts";
import { fitOf } from "../../policy/route-fit.ts";
import { type RoutePattern } from "../../policy/table.ts";
import { type Path, readPath } from "../../request.ts";
import { readProperty } from "../node-request.ts";
import { withMounts } from "./mounts.ts";
import { type ExpressRequest } from "./request.ts";
import { type ExpressRoute, toPatterns } from "./router.ts";

/** Returns the patterns of a route for this request, with the mounts that the request has passed. */
export function patternsAt(request: ExpressRequest, route: ExpressRoute): readonly RoutePattern[] {
  const own = ownPatterns(route);
  const matched = own.length === 1 ? own : firstFitting(own, readPath(readProperty(request, "url")));
  return readProperty(request, "baseUrl") ? withMounts(request, matched) : matched;
}

const ownPatternsOf = new WeakMap<ExpressRoute, readonly string[]>();

function ownPatterns(route: ExpressRoute): readonly string[] {
  const known = ownPatternsOf.get(route);
  if (known) return known;
  const patterns = (toPatterns(route.path) ?? [EXPRESSION]).map((pattern) => pattern || "/");
  ownPatternsOf.set(route, patterns);
  return patterns;
}

/** Returns the paths up to the first one that every router matches: Express uses the first match. */
function firstFitting(patterns: readonly string[], path: Path | undefined): readonly string[] {
  const first = patterns.findIndex((pattern) => {
    const parsed = parsePattern(pattern);
    if (!path || !isPattern(parsed)) return false;
    return parsed.alternatives.some(({ segments }) => fitOf(segments, path) === "exact");
  });
  return first < 0 ? patterns : patterns.slice(0, first + 1);
}
