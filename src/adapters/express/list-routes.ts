import { type ListedRoute, type UnguardedPlace } from "../../audit/coverage.ts";
import { covers } from "../../audit/overlap.ts";
import { type PatternSegment } from "../../policy/pattern.ts";
import { parseRoutePattern } from "../../policy/route-fit.ts";
import { isGuard, isScopeCheck } from "../roles.ts";
import {
  isEveryMethod,
  listRoutes,
  NO_GUARD,
  type Registration,
  unguardedPlace,
  writeOut,
} from "../route-list.ts";
import {
  type ExpressApplication,
  type ExpressRoute,
  isApplication,
  isListable,
  mountPathsOf,
  parentOf,
  toPatterns,
  visit,
  type Visited,
} from "./router.ts";

/**
 * Lists the routes of an Express application (4 and 5) for `server.audit`, including nested routers with the mounts above
 * them. Optional groups are written out, a handler for every method is `*`, and HEAD next to GET is part of GET. A route
 * or mount whose path is a regular expression is listed as text that the audit reports as unreadable, and so is a mount
 * that Express does not report (5.0 to 5.2).
 *
 * A route that `protect` does not run in front of is marked as unguarded. Where no guard is found in the application at
 * all, every route is marked, and the audit warns.
 *
 * Express hides applications that are mounted by `app.use`: name each of them after the application that it is mounted
 * in. Handlers given to `app.use(path, handler)` are not routes.
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
  const named = [...new Set([app, ...mounted])];
  if (!named.every(isListable))
    throw new TypeError("routesOf takes Express applications: write routesOf(app).");
  const roots = new Set(named.map(rootOf));
  const known = [...new Set(named.flatMap((one) => [one, ...parentsOf(one)]))];
  return listRoutes([...roots].flatMap((root) => registrationsOf(root, known, named)));
}

const rootOf = (app: ExpressApplication): ExpressApplication => parentsOf(app).at(-1) ?? app;

function parentsOf(app: ExpressApplication): readonly ExpressApplication[] {
  const parent = parentOf(app);
  return parent ? [parent, ...parentsOf(parent)] : [];
}

/** The routes of the named applications in one tree. What stands in front of a router alone is not known. */
function registrationsOf(
  root: ExpressApplication,
  known: readonly ExpressApplication[],
  named: readonly ExpressApplication[],
): readonly Registration[] {
  const order = [...visitAll(root, known, named)];
  const guards = order.map(guardedPaths);
  const hasGuard = guards.some((guard) => guard.length > 0);
  return order.flatMap(({ app, route, mounts = ["unknown mount "] }, index) => {
    if (!route || (known.includes(app) && !named.includes(app))) return [];
    const methods = methodsOf(route);
    return mounts.flatMap((mount) =>
      patternsOf(route, mount).flatMap((pattern): readonly Registration[] => {
        if (!isApplication(root)) return [{ methods, pattern }];
        if (!hasGuard) return splitByOwnGuard(route, pattern, NO_GUARD);
        const isBehind = guards.slice(0, index).some((guard) => isCovered(guard, pattern));
        if (isBehind) return [{ methods, pattern }];
        const isBefore = guards.slice(index).some((guard) => isCovered(guard, pattern));
        return splitByOwnGuard(
          route,
          pattern,
          unguardedPlace(isBefore ? "before" : "outside", hasScopeCheck(route)),
        );
      }),
    );
  });
}

/** Everything in the order in which a request reaches it, and in the known applications where they are mounted. */
function* visitAll(
  app: ExpressApplication,
  known: readonly ExpressApplication[],
  named: readonly ExpressApplication[],
  seen = new Set<ExpressApplication>([app]),
): Iterable<Visited> {
  for (const visited of visit(app)) {
    yield visited;
    if (!visited.isHiddenApplication) continue;
    const inside = known.find(
      (one) => parentOf(one) === visited.app && !seen.has(one) && isMountedAt(one, visited),
    );
    if (inside && (named.includes(inside) || !named.includes(visited.app))) {
      seen.add(inside);
      yield* visitAll(inside, known, named, seen);
    } else if (named.includes(visited.app))
      throw new TypeError(
        `routesOf cannot look into the application that is mounted at ${visited.mounts?.join(", ") ?? "an unknown path"}: pass it as well: routesOf(app, mounted). Replace an application that is mounted twice with a router.`,
      );
  }
}

function isMountedAt(app: ExpressApplication, { mounts }: Visited): boolean {
  const own = mountPathsOf(app) ?? [];
  return !mounts || own.every((path) => mounts.some((mount) => mount.endsWith(path)));
}

type Paths = readonly (readonly PatternSegment[])[];

/** The paths that a guard runs for; none for any other middleware. */
function guardedPaths({ handle, route, mounts = [] }: Visited): Paths {
  // `app.all("/*path", protect(server))` guards what comes behind it as well.
  const isGuardForAll = route && methodsOf(route).includes("*") && holdsGuard(route);
  const patterns = isGuard(handle)
    ? mounts.flatMap((mount) => [mount || "/", `${mount}/*rest`])
    : mounts.flatMap((mount) => (isGuardForAll ? patternsOf(route, mount) : []));
  return patterns.flatMap(pathsOf);
}

const pathsOf = (pattern: string): Paths =>
  parseRoutePattern(pattern)?.alternatives.map(({ segments }) => segments) ?? [];

/** Whether every path of a route passes a guard: a guard at `/agents/:id` does not see requests for `/agents`. */
const isCovered = (guarded: Paths, pattern: string): boolean =>
  guarded.length > 0 &&
  pathsOf(pattern).every((route) => guarded.some((own) => covers(own, route) && isSameCase(own, route)));

/** A router may be case-sensitive: a guard at `/API` is not in front of `/api` then. */
const isSameCase = (guard: readonly PatternSegment[], route: readonly PatternSegment[]): boolean =>
  guard.every((own, index) => {
    const other = route[index];
    return own.kind !== "static" || other?.kind !== "static" || own.text === other.text;
  });

/** The methods that a handler of the route guards itself, apart from the others. */
function splitByOwnGuard(
  route: ExpressRoute,
  pattern: string,
  unguarded: UnguardedPlace,
): readonly Registration[] {
  const isGuarded = (method: string) =>
    holdsGuard({
      stack: route.stack.filter((own) => [undefined, method.toLowerCase()].includes(own.method)),
    });
  const methods = methodsOf(route);
  return [
    { methods: methods.filter(isGuarded), pattern },
    { methods: methods.filter((method) => !isGuarded(method)), pattern, unguarded },
  ];
}

const holdsGuard = ({ stack }: Pick<ExpressRoute, "stack">): boolean =>
  stack.some(({ handle }) => isGuard(handle));
const hasScopeCheck = ({ stack }: ExpressRoute): boolean => stack.some(({ handle }) => isScopeCheck(handle));

/** The methods of a route in upper case; `*` for `app.all`, for which Express lists every method. */
function methodsOf({ methods }: ExpressRoute): readonly string[] {
  const names = Object.keys(methods).map((method) => method.toUpperCase());
  return methods["_all"] || isEveryMethod(names) ? ["*"] : names;
}

const patternsOf = (route: ExpressRoute, mount: string): readonly string[] =>
  (toPatterns(route.path) ?? [`RegExp ${String(route.path)}`]).flatMap((own) =>
    writeOut(`${mount}${own}` || "/"),
  );
