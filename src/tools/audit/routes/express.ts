import {
  type ExpressApplication,
  type ExpressRoute,
  isApplication,
  isListable,
  mountPathsOf,
  parentOf,
  toPatterns,
  visit,
  visitAt,
  type Visited,
} from "../../../adapters/express/router.ts";
import { isGuard } from "../../../adapters/shared/roles.ts";
import { checkOptions, type OptionCheck } from "../../../core/options/check-options.ts";
import type { ListedRoute, UnguardedPlace } from "../../../core/policy/listed-route.ts";
import { writeOut } from "../../../core/policy/route-comparison.ts";
import {
  describeUnguarded,
  findPlace,
  isEveryMethod,
  listInOrder,
  type Paths,
  pathsOf,
  type RoutesOptions,
} from "./registration.ts";

const MOUNTED: OptionCheck = {
  accepts: (mounted) => Array.isArray(mounted) && mounted.every(isListable),
  hint: "Write the mounted Express applications as an array: routesOf(app, { mounted: [admin] }).",
};

/**
 * Lists the routes of an Express application or router (4 and 5), nested routers included. Regular
 * expressions, and mounts that Express doesn't report (5.0 to 5.2), become unreadable patterns. Express hides
 * mounted applications, so pass them as `mounted`.
 */
export function listExpress(app: ExpressApplication, options: RoutesOptions): readonly ListedRoute[] {
  checkOptions("routesOf", options, { mounted: MOUNTED });
  const { mounted = [] } = options;
  const named = new Set([app, ...mounted]);
  const around = new Set([...named].flatMap(lineOf));
  const roots = [...around].filter((candidate) => !parentOf(candidate));
  // An application in a router has no parent, but is part of another tree.
  const inside = new Set(
    roots.flatMap((root) => [...visit(root)].map(({ handle }) => handle).filter((handle) => handle !== root)),
  );
  const outermost = roots.filter((root) => !inside.has(root));
  return listInOrder(outermost.flatMap((root) => [...registrationsOf(root, named, around)]));
}

type Applications = Set<ExpressApplication>;

/** Returns an application and the applications that contain it. */
function lineOf(app: ExpressApplication): readonly ExpressApplication[] {
  const parent = parentOf(app);
  return parent ? [app, ...lineOf(parent)] : [app];
}

/**
 * Lists the routes of the named applications in one tree. `around` also contains the applications that
 * contain them.
 */
function* registrationsOf(root: ExpressApplication, named: Applications, around: Applications) {
  const order = [...visitAll(visit(root), named, new Set(around))];
  const guards = order.map(guardedPaths);
  for (const [index, { app, route, mounts = ["unknown mount "] }] of order.entries()) {
    if (!route || !named.has(app)) continue;
    for (const pattern of mounts.flatMap((mount) => patternsOf(route, mount))) {
      // For a single router, it isn't known what runs before it.
      const unguarded = isApplication(root) ? findUnguarded(route, pattern, index, guards) : undefined;
      const methods = methodsOf(route);
      const isUnguarded = (method: string) => unguarded && !holdsGuard(route, method);
      const isPartial = String(route.path).includes("(");
      yield { methods: methods.filter((method) => !isUnguarded(method)), pattern, isPartial };
      yield { methods: methods.filter(isUnguarded), pattern, unguarded, isPartial };
    }
  }
}

/**
 * Lists all handlers in the order in which a request reaches them. `left` contains the applications that
 * aren't reached yet.
 */
function* visitAll(
  tree: Iterable<Visited>,
  named: Applications,
  left: Set<ExpressApplication>,
): Iterable<Visited> {
  for (const visited of tree) {
    yield visited;
    const { app, handle, mounts, isHiddenApplication } = visited;
    // An application that was passed includes the applications that its routers show.
    if (isApplication(handle) && named.has(app)) named.add(handle);
    if (!isHiddenApplication) continue;
    const inside = [...left].find((other) => parentOf(other) === app && isMountedAt(other, visited));
    if (named.has(app) && !(inside && named.has(inside)))
      throw new TypeError(
        `routesOf can't look into the application that is mounted at ${mounts?.join(", ") ?? "an unknown path"}: pass it as well: routesOf(app, { mounted: [admin] }). Replace an application that is mounted twice with a router.`,
      );
    if (!inside) continue;
    left.delete(inside);
    yield* visitAll(visitAt(inside, mounts), named, left);
  }
}

const isMountedAt = (app: ExpressApplication, { mounts }: Visited): boolean =>
  !mounts || (mountPathsOf(app) ?? []).every((path) => mounts.some((mount) => mount.endsWith(path)));

function findUnguarded(
  route: ExpressRoute,
  pattern: string,
  index: number,
  guards: readonly Paths[],
): UnguardedPlace | undefined {
  const place = findPlace(pattern, index, guards);
  const handlers = route.stack.map(({ handle }) => handle);
  return place && describeUnguarded(place, handlers);
}

/** Returns the paths that a guard runs for; empty for other middleware. */
function guardedPaths({ handle, route, mounts = [] }: Visited): Paths {
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
