/** The whole patterns of a route, from the root of the application, for one request. */
import { type PatternSegment } from "../../policy/pattern.ts";
import { isPattern, parsePattern } from "../../policy/parse-pattern.ts";
import { fitOf, parseRoutePattern } from "../../policy/route-fit.ts";
import { type Path, readPath } from "../../request.ts";
import { guardedApplications } from "../guard.ts";
import { readProperty } from "../node-request.ts";
import { EXPRESSION, literalPattern, renderPattern } from "../../policy/render-pattern.ts";
import { type ExpressRequest } from "./request.ts";
import { countLayers, type ExpressApplication, type ExpressRoute, toPatterns, visit } from "./router.ts";

/**
 * Returns the patterns of a route for this request: with each mount that Express reports and that matches the
 * request, and with the mount as the request spells it.
 */
export function patternsAt(request: ExpressRequest, route: ExpressRoute): readonly string[] {
  const own = ownPatterns(route);
  const matched = own.length === 1 ? own : firstFitting(own, readPath(readProperty(request, "url")));
  const baseUrl = readProperty(request, "baseUrl");
  if (!baseUrl) return matched;
  const mounts = mountsAt(request, route, baseUrl);
  return mounts.flatMap((mount) =>
    matched.map((pattern) => (pattern === "/" ? mount || "/" : mount + pattern)),
  );
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

/** Returns the mounts that Express reports and that match this request, and the mount as requested. */
function mountsAt(request: ExpressRequest, route: ExpressRoute, baseUrl: string): readonly string[] {
  const path = readPath(baseUrl);
  // A guard may run in an application around `request.app`.
  const apps = new Set([readProperty(request, "app"), ...guardedApplications(request)]);
  const reported = [...apps].flatMap((app) =>
    app && path ? readMounts(app, route).filter(({ segments }) => fitOf(segments, path)) : [],
  );
  if (reported.length === 0) warnOfMounts(readProperty(request, "app") ?? route);
  return [...new Set([...reported.map(({ source }) => source), literalPattern(baseUrl)])];
}

interface Mount {
  readonly source: string;
  readonly segments: readonly PatternSegment[];
}

/** The mounts above the routes of an application. Valid while the number of its layers stays the same. */
interface Tree {
  readonly layers: number;
  countedAt: number;
  readonly mounts: Map<ExpressRoute, readonly Mount[]>;
}

const trees = new WeakMap<ExpressApplication, Tree>();

/** How long an application is not searched for new routers, because counting its layers takes time. */
const MAX_AGE_MS = 1_000;

function readMounts(app: ExpressApplication, route: ExpressRoute): readonly Mount[] {
  const known = trees.get(app);
  const now = performance.now();
  const found = known && now - known.countedAt < MAX_AGE_MS ? known.mounts.get(route) : undefined;
  if (found) return found;
  const layers = countLayers(app);
  const tree = known?.layers === layers ? known : { layers, countedAt: now, mounts: findMounts(app) };
  tree.countedAt = now;
  trees.set(app, tree);
  return tree.mounts.get(route) ?? [];
}

function findMounts(app: ExpressApplication): Tree["mounts"] {
  const mounts: Tree["mounts"] = new Map();
  for (const { route, mounts: own = [] } of visit(app)) {
    // Each alternative separately: an optional group before a route would leave a double slash.
    const alternatives = own.flatMap((source) => parseRoutePattern(source || "/")?.alternatives ?? []);
    const read = alternatives.map((alternative) => ({
      source: renderPattern(alternative).replace(/\/$/, ""),
      segments: alternative.segments,
    }));
    if (route) mounts.set(route, [...(mounts.get(route) ?? []), ...read]);
  }
  return mounts;
}

const warned = new WeakSet<object>();

function warnOfMounts(owner: object): void {
  if (!warned.has(owner)) process.emitWarning(UNREPORTED, "ScopegateWarning");
  warned.add(owner);
}

const UNREPORTED =
  "Express does not report the path that a router or application is mounted at. Its routes are checked with the mount as it was requested. Express 4 and Express 5.3 or later report mounts. If a router mounts an application, use protect in the application around the router.";
