import { type ListedRoute, type UnguardedPlace } from "../../tools/audit/coverage.ts";
import { isGuard } from "../shared/roles.ts";
import {
  describeUnguarded,
  findPlace,
  isEveryMethod,
  listInOrder,
  type Paths,
  pathsOf,
  writeOut,
} from "../shared/route-list.ts";
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
} from "./router.ts";

/**
 * Lists the routes of an Express application (4 and 5) for `server.audit`, nested routers included. Optional
 * groups are written out, a handler for every method is `*`, and HEAD next to GET is part of GET. The audit
 * reports regular expressions, and mounts that Express does not report (5.0 to 5.2), as unreadable.
 *
 * Routes that `protect` does not run in front of are marked as unguarded. If the application has no guard,
 * every route is marked, and the audit warns.
 *
 * Express hides mounted applications: pass them too. Handlers of `app.use(path, handler)` are not routes.
 *
 * @throws TypeError for anything but applications and routers, and when a mounted application is not named
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { protect, routesOf } from "scopegate/express";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = express();
 * const admin = express();
 * app.use(protect(server));
 * app.get("/agents/:agent_id", (req, res) => res.json(req.params.agent_id));
 * app.use("/admin", admin);
 * server.audit(routesOf(app, admin)).orThrow();
 * ```
 */
export function routesOf(
  app: ExpressApplication,
  ...mounted: readonly ExpressApplication[]
): readonly ListedRoute[] {
  const named = new Set([app, ...mounted]);
  if (![...named].every(isListable))
    throw new TypeError("routesOf takes Express applications: write routesOf(app).");
  const known = new Set([...named].flatMap(lineOf));
  const roots = [...known].filter((one) => !parentOf(one));
  // An application in a router has no parent, but it is part of another tree.
  const inside = new Set(
    roots.flatMap((root) => [...visit(root)].map(({ handle }) => handle).filter((handle) => handle !== root)),
  );
  const outermost = roots.filter((root) => !inside.has(root));
  return listInOrder(outermost.flatMap((root) => [...registrationsOf(root, named, known)]));
}

type Applications = Set<ExpressApplication>;

/** Returns an application and those around it. */
function lineOf(app: ExpressApplication): readonly ExpressApplication[] {
  const parent = parentOf(app);
  return parent ? [app, ...lineOf(parent)] : [app];
}

/** Lists the routes of the named applications in one tree. `known` includes the applications around them. */
function* registrationsOf(root: ExpressApplication, named: Applications, known: Applications) {
  const order = [...visitAll(visit(root), named, new Set(known))];
  const guards = order.map(guardedPaths);
  for (const [index, { app, route, mounts = ["unknown mount "] }] of order.entries()) {
    if (!route || !named.has(app)) continue;
    for (const pattern of mounts.flatMap((mount) => patternsOf(route, mount))) {
      // What runs before a single router is unknown.
      const unguarded = isApplication(root) ? findUnguarded(route, pattern, index, guards) : undefined;
      const methods = methodsOf(route);
      const isUnguarded = (method: string) => unguarded && !holdsGuard(route, method);
      const isPartial = String(route.path).includes("(");
      yield { methods: methods.filter((method) => !isUnguarded(method)), pattern, isPartial };
      yield { methods: methods.filter(isUnguarded), pattern, unguarded, isPartial };
    }
  }
}

/** Lists all handlers in the order of a request. `left` holds the known applications not yet reached. */
function* visitAll(
  tree: Iterable<Visited>,
  named: Applications,
  left: Set<ExpressApplication>,
): Iterable<Visited> {
  for (const visited of tree) {
    yield visited;
    const { app, handle, mounts, isHiddenApplication } = visited;
    // An application that is passed includes the applications that its routers show.
    if (isApplication(handle) && named.has(app)) named.add(handle);
    if (!isHiddenApplication) continue;
    const inside = [...left].find((one) => parentOf(one) === app && isMountedAt(one, visited));
    if (named.has(app) && !(inside && named.has(inside)))
      throw new TypeError(
        `routesOf cannot look into the application that is mounted at ${mounts?.join(", ") ?? "an unknown path"}: pass it as well: routesOf(app, mounted). Replace an application that is mounted twice with a router.`,
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
  // `app.all("/*path", protect(server))` guards what comes after it as well.
  if (!route || !methodsOf(route).includes("*") || !holdsGuard(route, "*")) return [];
  return mounts.flatMap((mount) => patternsOf(route, mount)).flatMap(pathsOf);
}

/** Returns whether a guard among the handlers of a route runs for this method, or for every method. */
const holdsGuard = ({ stack, methods }: ExpressRoute, method: string): boolean =>
  (method === "*" ? Object.keys(methods) : [method.toLowerCase()]).every((one) =>
    stack.some((own) => [undefined, one].includes(own.method) && isGuard(own.handle)),
  );

/** Returns the methods of a route in upper case; `*` for `app.all`, for which Express lists every method. */
function methodsOf({ methods }: ExpressRoute): readonly string[] {
  const names = Object.keys(methods).map((method) => method.toUpperCase());
  return methods["_all"] || isEveryMethod(names) ? ["*"] : names;
}

const patternsOf = (route: ExpressRoute, mount: string): readonly string[] =>
  (toPatterns(route.path) ?? [`RegExp ${String(route.path)}`]).flatMap((own) => writeOut(mount + own || "/"));
