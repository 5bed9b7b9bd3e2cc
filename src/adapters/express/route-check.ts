/**
 * The last check before a route runs. Express picks the first route that matches, and gives one sign of it before the
 * route's handlers: it assigns `request.route`. From then on each handler of that route asks first.
 */
import { EXPRESSION, literalPattern, type PlainPattern, writeOut } from "../../policy/plain-pattern.ts";
import { BoundedMap } from "../../runtime/bounded-map.ts";
import { type PathSegments, readTarget as readPath } from "../../request.ts";
import { toPatterns } from "./mounts.ts";
import { type ExpressMiddleware, type ExpressRequest, readMethod, readTarget } from "./request.ts";
import { type ExpressApplication, type ExpressRoute, isRoute, readApplication } from "./router.ts";
import { guardRoute, isSettled, isSettledByRules, type PickedRoute } from "../guard.ts";
import { assignedRouteOf, rememberRoute } from "../guard-states.ts";
import { inPlaceOf } from "../middleware-marks.ts";
import { readMember } from "../node-request.ts";
import { send } from "../node-response.ts";
import { writeOutAll, type WrittenPatterns } from "../written-patterns.ts";

const guardedHandlers = new WeakSet();

const ROUTE: PropertyDescriptor & ThisType<object> = {
  configurable: false,
  enumerable: true,
  get() {
    return assignedRouteOf(this);
  },
  set(route: unknown) {
    rememberRoute(this, route);
    if (isRoute(route)) guardHandlers(route);
  },
};

/** Has every route that a request reaches from now on ask the guards of the request. */
export function watchRoutes(request: object): void {
  const watched: { route?: unknown } = request;
  const route = readMember(watched, "route");
  Object.defineProperty(watched, "route", ROUTE);
  if (route !== undefined) watched.route = route;
}

function guardHandlers({ stack }: ExpressRoute): void {
  for (const layer of stack) {
    const { handle } = layer;
    // Handlers of errors take one argument more, and run for faults only.
    if (typeof handle !== "function" || handle.length > 3 || guardedHandlers.has(handle)) continue;
    const guarded = inPlaceOf(handle, behindGuard(handle as ExpressMiddleware));
    guardedHandlers.add(guarded);
    layer.handle = guarded;
  }
}

/** What Express 5 is returned it waits for; what is decided late is handed to `next` here. */
function behindGuard(handle: (...given: Parameters<ExpressMiddleware>) => unknown): typeof handle {
  return (request, response, next) => {
    const route = assignedRouteOf(request);
    const routed = { method: readMethod(request), target: readTarget(request) };
    if (isSettledByRules(request, routed, readWritten(request, route)))
      return handle(request, response, next);
    const picked: PickedRoute = { ...routed, patterns: findPatterns(request, route, routed.target) };
    if (isSettled(request, picked)) return handle(request, response, next);
    return void guardRoute(request, picked)
      .then((refusal) => (refusal ? send(response, refusal) : handle(request, response, next)))
      .catch((error: unknown) => {
        // A rejection without a reason would be taken for none.
        if (error) next(error);
        else next(new Error("Rejected promise"));
      });
  };
}

/** The patterns of a route, from the root of the application down, that a path is one of. */
function findPatterns(request: ExpressRequest, route: unknown, target: string): PickedRoute["patterns"] {
  const path = readPath(target);
  if (!path || !isRoute(route)) return [];
  const mounts = findMounts(request, route);
  if (mounts === "too many") return "others";
  return mounts
    .flatMap((mount) => findFirst(patternsOf(route, mount).each, path))
    .map(({ source }) => source);
}

/** All patterns of a route behind the mounts that the path goes through; none where nobody tells those. */
function readWritten(request: ExpressRequest, route: unknown): readonly string[] {
  if (!isRoute(route)) return [];
  const baseUrl = readMember(request, "baseUrl");
  if (!baseUrl) return patternsOf(route, "").sources;
  return findToldMounts(request, route, baseUrl).flatMap((mount) => patternsOf(route, mount).sources);
}

/** Of a list of paths Express takes the first; one that only might match does not hide those behind it. */
function findFirst(listed: readonly PlainPattern[], path: PathSegments): readonly PlainPattern[] {
  const sure = listed.findIndex(({ isSureOf }) => isSureOf(path));
  const candidates = sure < 0 ? listed : listed.slice(0, sure + 1);
  return candidates.filter(({ matches }) => matches(path));
}

const patterns = new WeakMap<ExpressRoute, BoundedMap<string, WrittenPatterns>>();

/** Mounts that nobody tells are made of what was requested: no more of those are kept than this. */
const MAX_MOUNTS = 20;

function patternsOf(route: ExpressRoute, mount: string): WrittenPatterns {
  const known = patterns.get(route) ?? new BoundedMap<string, WrittenPatterns>(MAX_MOUNTS);
  const found = known.get(mount);
  if (found) return found;
  const own = toPatterns(route.path) ?? [EXPRESSION];
  const written = writeOutAll(own.map((pattern) => `${mount}${pattern}` || "/"));
  patterns.set(route, known);
  known.set(mount, written);
  return written;
}

const mountsOf = new WeakMap<object, WeakMap<ExpressRoute, readonly PlainPattern[]>>();

/** The mounts above a route as they were written, or else as they may have been. */
function findMounts(request: ExpressRequest, route: ExpressRoute): readonly string[] | "too many" {
  const baseUrl = readMember(request, "baseUrl");
  if (!baseUrl) return [""];
  const told = findToldMounts(request, route, baseUrl);
  return told.length > 0 ? told : possibleMounts(baseUrl);
}

/** Of the mounts that an application tells of a route those that the request came through: there may be others. */
function findToldMounts(request: ExpressRequest, route: ExpressRoute, baseUrl: string): readonly string[] {
  const app = readMember(request, "app");
  const told = app ? readMountsOf(app, route) : [];
  const path = told.length > 0 ? baseUrl.split("/").slice(1) : [];
  return told.filter(({ matches }) => matches(path)).map(({ source }) => source);
}

/** Readings double with each segment: a longer mount that nobody tells is refused. */
const MAX_UNTOLD_SEGMENTS = 6;
const MAX_UNTOLD_LENGTH = 512;

/** A mount that nobody tells: each segment of it may be a text or a parameter. */
function possibleMounts(baseUrl: string): readonly string[] | "too many" {
  const segments = baseUrl.split("/").slice(1);
  if (segments.length > MAX_UNTOLD_SEGMENTS || baseUrl.length > MAX_UNTOLD_LENGTH) return "too many";
  return segments.reduce<readonly string[]>(
    (mounts, segment, index) =>
      [literalPattern(segment), `:mount${index}`].flatMap((own) => mounts.map((mount) => `${mount}/${own}`)),
    [""],
  );
}

function readMountsOf(app: ExpressApplication, route: ExpressRoute): readonly PlainPattern[] {
  const known = mountsOf.get(app) ?? new WeakMap<ExpressRoute, readonly PlainPattern[]>();
  mountsOf.set(app, known);
  const found =
    known.get(route) ??
    (readApplication(app)?.routes ?? [])
      .filter((one) => one.route === route)
      .flatMap(({ mounts = [] }) => mounts.flatMap(writeOut));
  known.set(route, found);
  return found;
}
