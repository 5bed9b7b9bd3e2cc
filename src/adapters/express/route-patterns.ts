/** The patterns of a route from the root of the application down, as a request has reached it. */
import { isPattern, parsePattern } from "../../policy/parse-pattern.ts";
import { fitOf, parseRoutePattern } from "../../policy/route-fit.ts";
import { type Path, readPath } from "../../request.ts";
import { BoundedMap } from "../../runtime/bounded-map.ts";
import { createWarning } from "../../runtime/warn-once.ts";
import { readProperty } from "../node-request.ts";
import { EXPRESSION, literalPattern } from "../../policy/render-pattern.ts";
import { type ExpressRequest } from "./request.ts";
import { countLayers, type ExpressApplication, type ExpressRoute, toPatterns, visit } from "./router.ts";

/**
 * The patterns of a route for this request: behind each mount that Express reports and that the request can have come
 * through, and behind the mount as the request spells it.
 */
export function patternsAt(request: ExpressRequest, route: ExpressRoute): readonly string[] {
  const own = ownPatterns(route);
  const matched = own.length === 1 ? own : firstFitting(own, readPath(readProperty(request, "url")));
  const baseUrl = readProperty(request, "baseUrl");
  if (!baseUrl) return matched;
  const mounts = mountsAt(request, route, baseUrl);
  return mounts.flatMap((mount) => matched.map((pattern) => (pattern === "/" ? mount : mount + pattern)));
}

/** Where a request keeps the application that its guard runs in, which may be one around `request.app`. */
const GUARDED_APP = Symbol("application");

type Guarded = ExpressRequest & { readonly app?: ExpressApplication; [GUARDED_APP]?: ExpressApplication };

export function rememberApplication(request: Guarded | object): void {
  const guarded = request as Guarded;
  const app = readProperty(guarded, "app");
  if (app && !readProperty(guarded, GUARDED_APP)) guarded[GUARDED_APP] = app;
}

const ownPatternsOf = new WeakMap<ExpressRoute, readonly string[]>();

function ownPatterns(route: ExpressRoute): readonly string[] {
  const known = ownPatternsOf.get(route);
  if (known) return known;
  const patterns = (toPatterns(route.path) ?? [EXPRESSION]).map((pattern) => pattern || "/");
  ownPatternsOf.set(route, patterns);
  return patterns;
}

/** Of an array of paths Express takes the first that matches; one that only some routers match does not hide the next. */
function firstFitting(patterns: readonly string[], path: Path | undefined): readonly string[] {
  const first = patterns.findIndex((pattern) => {
    const parsed = parsePattern(pattern);
    if (!path || !isPattern(parsed)) return false;
    return parsed.alternatives.some(({ segments }) => fitOf(segments, path) === "exact");
  });
  return first < 0 ? patterns : patterns.slice(0, first + 1);
}

/** Mounts with parameters are requested in any number of spellings. */
const MAX_MOUNTS = 100;

/** The mounts of each route, by the mount as it was requested. */
let knownMounts = new WeakMap<ExpressRoute, BoundedMap<string, readonly string[]>>();

function mountsAt(request: Guarded, route: ExpressRoute, baseUrl: string): readonly string[] {
  const found = knownMounts.get(route)?.get(baseUrl);
  if (found) return found;
  const path = readPath(baseUrl);
  const apps = [readProperty(request, "app"), readProperty(request, GUARDED_APP)];
  const reported = path
    ? [...new Set(apps)].flatMap((app) => (app ? reportedMounts(app, route, path) : []))
    : [];
  if (reported.length === 0) warnOfMounts();
  const mounts = [...new Set([...reported, literalPattern(baseUrl)])];
  const known = knownMounts.get(route) ?? new BoundedMap<string, readonly string[]>(MAX_MOUNTS);
  knownMounts.set(route, known);
  known.set(baseUrl, mounts);
  return mounts;
}

/** The routes of an application with the mounts above them; `undefined` for a mount that Express does not report. */
interface Tree {
  readonly layers: number;
  readonly mounts: ReadonlyMap<ExpressRoute, readonly (readonly string[] | undefined)[]>;
}

const trees = new WeakMap<ExpressApplication, Tree>();

function reportedMounts(app: ExpressApplication, route: ExpressRoute, path: Path): readonly string[] {
  const reported = readTree(app).mounts.get(route) ?? [];
  return reported.flatMap((mounts = []) => mounts).filter((mount) => isMountOf(mount, path));
}

/** Read again when the application has more layers than before: routers may be mounted at any time. */
function readTree(app: ExpressApplication): Tree {
  const layers = countLayers(app);
  const known = trees.get(app);
  if (known?.layers === layers) return known;
  const mounts = new Map<ExpressRoute, (readonly string[] | undefined)[]>();
  for (const { route, mounts: own } of visit(app))
    if (route) mounts.set(route, [...(mounts.get(route) ?? []), own]);
  const tree = { layers, mounts };
  trees.set(app, tree);
  // A route may have another mount now.
  if (known) knownMounts = new WeakMap();
  return tree;
}

function isMountOf(mount: string, path: Path): boolean {
  const pattern = parseRoutePattern(mount || "/");
  return pattern?.alternatives.some(({ segments }) => fitOf(segments, path)) ?? false;
}

const warnOfMounts = createWarning(
  "Express does not report the path that a router or application is mounted at. Its routes are checked as if the mount were the path that was requested. Express 4 and Express 5.3 or later report mounts; inside an application that a router mounts, protect must be in the application around it.",
);
