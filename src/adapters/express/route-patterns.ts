/** The whole patterns of a route, from the root of the application, for one request. */
import { isPattern, parsePattern } from "../../policy/parse-pattern.ts";
import {
  comparable,
  ComparablePath,
  type ComparableRoute,
  parseRoutePattern,
} from "../../policy/route-fit.ts";
import { type RoutePattern } from "../../policy/table.ts";
import { readPath } from "../../request.ts";
import { guardedApplications } from "../guard.ts";
import { readProperty } from "../node-request.ts";
import { EXPRESSION, literalPattern, renderPattern } from "../../policy/render-pattern.ts";
import { type ExpressRequest } from "./request.ts";
import { countLayers, type ExpressApplication, type ExpressRoute, toPatterns, visit } from "./router.ts";

/**
 * Returns the patterns of a route for this request: with each mount that Express reports and that matches the
 * request, and with the mount as the request spells it.
 */
export function patternsAt(request: ExpressRequest, route: ExpressRoute): readonly RoutePattern[] {
  const own = readRoute(route);
  const matched = own.paths.length === 1 ? own.paths : firstFitting(own, readProperty(request, "url"));
  const baseUrl = readProperty(request, "baseUrl");
  if (!baseUrl) return matched;
  const mounts = mountsAt(request, route, baseUrl);
  const reported = mounts.flatMap((mount) =>
    matched.map((pattern) => (pattern === "/" ? mount || "/" : mount + pattern)),
  );
  if (mounts.includes(literalPattern(baseUrl))) return reported;
  return [...reported, ...matched.map((pattern) => ({ mount: baseUrl, pattern }))];
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

/** Returns the paths up to the first one that every router matches: Express uses the first match. */
function firstFitting({ paths, alternatives }: OwnPaths, url: string): readonly string[] {
  const path = readPath(url);
  if (!path) return paths;
  const compared = new ComparablePath(path);
  const first = alternatives.findIndex((own) => own.some((one) => compared.fitOf(one) === "exact"));
  return first < 0 ? paths : paths.slice(0, first + 1);
}

/** Returns the mounts that Express reports and that match this request. */
function mountsAt(request: ExpressRequest, route: ExpressRoute, baseUrl: string): readonly string[] {
  const path = readPath(baseUrl);
  const compared = path && new ComparablePath(path);
  // A guard may run in an application around `request.app`.
  const apps = new Set([readProperty(request, "app"), ...guardedApplications(request)]);
  const reported = [...apps].flatMap((app) =>
    app && compared ? readMounts(app, route).filter(({ route: mount }) => compared.fitOf(mount)) : [],
  );
  if (reported.length === 0) warnOfMounts(readProperty(request, "app") ?? route);
  return [...new Set(reported.map(({ source }) => source))];
}

interface Mount {
  readonly source: string;
  readonly route: ComparableRoute;
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
      route: comparable(alternative.segments),
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
