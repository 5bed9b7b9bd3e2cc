import {
  type ExpressApplication,
  type ExpressLayer,
  type ExpressRoute,
  isApplication,
  isListable,
  mountsOf,
  toPatterns,
  visit,
} from "../../../adapters/express/router.ts";
import { isGuard, isScopeCheck } from "./guards.ts";
import { checkOptions, type OptionCheck } from "../../../core/options/check-options.ts";
import type { ListedRoute, UnguardedPlace } from "../../../core/policy/listed-route.ts";
import { writeOut } from "../../../core/policy/route-comparison.ts";
import { ROOT, SERVES } from "../mounts.ts";
import {
  describeUnguarded,
  findPlace,
  isEveryMethod,
  isMiddlewareListed,
  listInOrder,
  type Paths,
  pathsOf,
  type Registration,
  type RoutesOptions,
} from "./registration.ts";

const MOUNTED: OptionCheck = {
  accepts: (mounted) => Array.isArray(mounted) && mounted.every(isListable),
  hint: "Write the mounted Express applications as an array: routesOf(app, { mounted: [admin] }).",
};

/**
 * Lists the routes of an Express application or router (4 and 5), nested routers included, and static files.
 * Regular expressions, and mounts that Express doesn't report (5.0 to 5.2), become unreadable patterns.
 * Express hides mounted applications, so pass the outermost application, with the others as `mounted`.
 */
export function listExpress(app: ExpressApplication, options: RoutesOptions): readonly ListedRoute[] {
  checkOptions("routesOf", options, { mounted: MOUNTED });
  const order = [...visitAll(app, [], new Set(options.mounted))];
  return listInOrder([...registrationsOf(order, isApplication(app))]);
}

type Mounts = readonly string[] | undefined;
/** A layer, after the layers whose routers contain it, the outermost one first. */
type Line = readonly ExpressLayer[];

/** A layer, in the order in which a request reaches it. */
interface Step {
  readonly layer: ExpressLayer;
  readonly line: Line;
  /** Patterns of the mounts above a route, or of the path of middleware; absent if Express stores none. */
  readonly mounts: Mounts;
}

/** For a single router, it isn't known what runs before it. */
function* registrationsOf(order: readonly Step[], isWhole: boolean): Iterable<Registration> {
  const guards = order.map(guardedPaths);
  const middleware = order.map(({ layer, mounts = [] }) =>
    layer.route || isOwn(layer) ? [] : mounts.map(patternBelow),
  );
  const corsPaths = middleware.map((patterns, index) =>
    order[index]?.layer.name === CORS ? patterns.flatMap(pathsOf) : [],
  );
  const routers = order.map(({ line }, index) =>
    guards[index]?.length === 0 ? [] : routerAround(line, order.slice(0, index).filter(mayLeave)),
  );
  for (const [index, { layer, line, mounts }] of order.entries()) {
    const { route } = layer;
    const certain = guards.map((paths, guard) => (isInside(line, routers[guard] ?? []) ? paths : []));
    const describePlace = (pattern: string): UnguardedPlace | undefined => {
      if (!isWhole) return undefined;
      const isCertain = findPlace(pattern, index, certain) === undefined;
      const place = findPlace(pattern, index, guards) ?? (isCertain ? undefined : "skipped");
      return place && describeUnguarded(place, route?.stack.map(({ handle }) => handle) ?? []);
    };
    for (const pattern of middleware[index] ?? []) {
      const { method, serves } = SERVED.get(layer.name) ?? { method: "*", serves: SERVES.handler };
      // Earlier CORS middleware responds first.
      const isLate = isWhole && findPlace(pattern, index, corsPaths) !== undefined;
      if (serves === SERVES.lateCors && !isLate) continue;
      // Earlier handlers at a path are middleware: the last one responds.
      const last = middleware.findLastIndex((patterns) => patterns.includes(pattern));
      if (serves === SERVES.handler && last !== index) continue;
      const registration = { methods: [method], pattern, serves, unguarded: describePlace(pattern) };
      if (isMiddlewareListed(registration)) yield { ...registration, isPartial: true };
    }
    if (!route) continue;
    for (const pattern of (mounts ?? ["unknown mount "]).flatMap((mount) => patternsOf(route, mount))) {
      const unguarded = describePlace(pattern);
      const methods = methodsOf(route);
      const isUnguarded = (method: string) => unguarded && !holdsGuard(route, method);
      const isPartial = String(route.path).includes("(");
      yield { methods: methods.filter((method) => !isUnguarded(method)), pattern, isPartial };
      yield { methods: methods.filter(isUnguarded), pattern, unguarded, isPartial };
    }
  }
}

/** The name of the middleware of the package `cors`. */
const CORS = "corsMiddleware";

/** What middleware with these names serves. */
const SERVED: ReadonlyMap<string, { readonly method: string; readonly serves: string }> = new Map([
  ["serveStatic", { method: "GET", serves: SERVES.files }],
  ["swaggerInitFn", { method: "GET", serves: SERVES.swaggerUi }],
  [CORS, { method: "OPTIONS", serves: SERVES.lateCors }],
]);

const patternBelow = (mount: string): string => (mount === "" ? ROOT : `${mount}{/*path}`);

/** Returns whether Express or scopegate registered the function, or it contains other layers. */
const isOwn = ({ name, handle }: ExpressLayer): boolean =>
  OWN_FUNCTIONS.includes(name) || isListable(handle) || isGuard(handle) || isScopeCheck(handle);

/** Lists all layers. `left` contains the mounted applications that aren't reached yet. */
function* visitAll(root: ExpressApplication, outer: Line, left: Set<ExpressApplication>): Iterable<Step> {
  for (const { app, around, layer } of visit(root)) {
    const line = [...outer, ...around, layer];
    const mounts = line.reduce<Mounts>(
      (heads, each) => {
        const tails = each.route ? [""] : mountsOf(each);
        return heads && tails?.flatMap((tail) => heads.map((head) => head + tail));
      },
      [""],
    );
    yield { layer, line, mounts };
    // Express hides what `app.use` mounts.
    if (layer.name !== HIDDEN) continue;
    const inside = [...left].find(
      (other) =>
        (other as { readonly parent?: ExpressApplication }).parent === app && isMountedAt(other, mounts),
    );
    if (!inside)
      throw new TypeError(
        `routesOf can't look into the application that is mounted at ${mounts?.join(", ") ?? "an unknown path"}: pass it as well: routesOf(app, { mounted: [admin] }). Replace an application that is mounted twice with a router.`,
      );
    left.delete(inside);
    yield* visitAll(inside, line, left);
  }
}

const HIDDEN = "mounted_app";

/** Functions of Express, which never leave a router. Express 4 registers the others in every application. */
const OWN_FUNCTIONS = [HIDDEN, "query", "expressInit"];

function isMountedAt(app: ExpressApplication, mounts: Mounts): boolean {
  const paths = toPatterns((app as { readonly mountpath?: unknown }).mountpath) ?? [];
  return !mounts || paths.every((path) => mounts.some((mount) => mount.endsWith(path)));
}

/**
 * Returns the layers around the outermost router in which every request passes a guard. If other middleware
 * comes first in a router, it can leave the router before the guard, with `next("router")`.
 */
function routerAround(line: Line, before: readonly Step[]): Line {
  const routers = before.map((step) => step.line.slice(0, -1)).filter((router) => isInside(line, router));
  return line.slice(0, Math.max(0, ...routers.map(({ length }) => length)));
}

const isInside = (line: Line, router: Line): boolean => router.every((layer, index) => line[index] === layer);

/** A nested router leaves only itself, and a function with one or two parameters doesn't have `next`. */
const mayLeave = ({ layer: { name, handle, route } }: Step): boolean =>
  !OWN_FUNCTIONS.includes(name) &&
  (route?.stack.map((handler) => handler.handle) ?? [handle]).some(
    (each) => !isGuard(each) && !isListable(each) && ![1, 2].includes((each as () => unknown).length),
  );

/** Returns the paths that a guard runs for; empty for other middleware. */
function guardedPaths({ layer: { handle, route }, mounts = [] }: Step): Paths {
  if (isGuard(handle)) return mounts.flatMap((mount) => [mount || "/", `${mount}/*rest`]).flatMap(pathsOf);
  // `app.all("/*path", protect(server))` also guards what comes after it.
  if (!route || !methodsOf(route).includes("*") || !holdsGuard(route, "*")) return [];
  return mounts.flatMap((mount) => patternsOf(route, mount)).flatMap(pathsOf);
}

/** Returns whether a guard among the handlers of a route runs for this method, or for every method. */
const holdsGuard = ({ stack, methods }: ExpressRoute, method: string): boolean =>
  (method === "*" ? Object.keys(methods) : [method.toLowerCase()]).every((name) =>
    stack.some((handler) => [undefined, name].includes(handler.method) && isGuard(handler.handle)),
  );

/** Returns the methods of a route in upper case; `*` for `app.all`, for which Express lists every method. */
function methodsOf({ methods }: ExpressRoute): readonly string[] {
  const names = Object.keys(methods).map((method) => method.toUpperCase());
  return methods["_all"] || isEveryMethod(names) ? ["*"] : names;
}

const patternsOf = (route: ExpressRoute, mount: string): readonly string[] =>
  (toPatterns(route.path) ?? [`RegExp ${String(route.path)}`]).flatMap((path) =>
    writeOut(mount + path || "/"),
  );
