/**
 * The last check before a route runs. Express picks the first route that matches, and gives one sign of it before the
 * route's handlers: it assigns `request.route`. From then on each handler of that route asks first.
 */
import {
  EXPRESSION,
  literalPattern,
  type PlainPattern,
  writeOut,
  writeOutWidely,
} from "../policy/plain-pattern.ts";
import { RecencyMap } from "../recency-map.ts";
import { type PathSegments, readTarget as readPath } from "../request.ts";
import { toPatterns } from "./express-mounts.ts";
import { type ExpressMiddleware, type ExpressRequest, readMethod, readTarget } from "./express-request.ts";
import { type ExpressApplication, type ExpressRoute, isRoute, readApplication } from "./express-router.ts";
import { guardRoute, isSettled, type PickedRoute } from "./guard.ts";
import { inPlaceOf } from "./middleware-marks.ts";
import { readMember } from "./node-request.ts";
import { send } from "./node-response.ts";

const pickedRoutes = new WeakMap<object, unknown>();
const guardedHandlers = new WeakSet();

const ROUTE: PropertyDescriptor & ThisType<object> = {
  configurable: false,
  enumerable: true,
  get() {
    return pickedRoutes.get(this);
  },
  set(route: unknown) {
    pickedRoutes.set(this, route);
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
    const route = readRoute(request);
    if (isSettled(request, route)) return handle(request, response, next);
    return void guardRoute(request, route)
      .then((refusal) => (refusal ? send(response, refusal) : handle(request, response, next)))
      .catch((error: unknown) => {
        // A rejection without a reason would be taken for none.
        if (error) next(error);
        else next(new Error("Rejected promise"));
      });
  };
}

function readRoute(request: ExpressRequest): PickedRoute {
  const target = readTarget(request);
  return { method: readMethod(request), target, patterns: findPatterns(request, target) };
}

/** The patterns of the picked route, from the root of the application down, that a path is one of. */
function findPatterns(request: ExpressRequest, target: string): PickedRoute["patterns"] {
  const route = pickedRoutes.get(request);
  if (!isRoute(route)) return [];
  const path = readPath(target);
  if (!path) return [];
  const mounts = findMounts(request, route, path);
  if (mounts === "too many") return "others";
  return mounts.flatMap((mount) => findFirst(patternsOf(route, mount), path)).map(({ source }) => source);
}

/** Of a list of paths Express takes the first; one that only might match does not hide those behind it. */
function findFirst(listed: readonly PlainPattern[], path: PathSegments): readonly PlainPattern[] {
  const sure = listed.findIndex(({ isSureOf }) => isSureOf(path));
  const candidates = sure < 0 ? listed : listed.slice(0, sure + 1);
  return candidates.filter(({ matches }) => matches(path));
}

const patterns = new WeakMap<ExpressRoute, RecencyMap<string, readonly PlainPattern[]>>();

/** Mounts that nobody tells are made of what was requested: no more of those are kept than this. */
const MAX_MOUNTS = 20;

function patternsOf(route: ExpressRoute, mount: string): readonly PlainPattern[] {
  const known = patterns.get(route) ?? new RecencyMap<string, readonly PlainPattern[]>(MAX_MOUNTS);
  patterns.set(route, known);
  const found =
    known.get(mount) ??
    (toPatterns(route.path) ?? [EXPRESSION]).flatMap((own) => writeOutWidely(`${mount}${own}` || "/"));
  known.set(mount, found);
  return found;
}

const mountsOf = new WeakMap<object, WeakMap<ExpressRoute, readonly PlainPattern[]>>();

/** The mounts above a route as they were written, or else as they may have been. */
function findMounts(
  request: ExpressRequest,
  route: ExpressRoute,
  path: PathSegments,
): readonly string[] | "too many" {
  const baseUrl = readMember(request, "baseUrl");
  if (!baseUrl) return [""];
  const app = readMember(request, "app");
  const mount = path.slice(0, baseUrl.split("/").length - 1);
  const written = (app ? readMountsOf(app, route) : [])
    .filter(({ matches }) => matches(mount))
    .map(({ source }) => source);
  return written.length > 0 ? written : possibleMounts(baseUrl);
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
