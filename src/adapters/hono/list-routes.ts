import { type ListedRoute } from "../../tools/audit/coverage.ts";
import { isGuard } from "../shared/roles.ts";
import {
  describeUnguarded,
  findPlace,
  listInOrder,
  type Paths,
  pathsOf,
  writeOut,
} from "../shared/route-list.ts";
import { toPattern } from "./pattern.ts";
import { type HonoRoute, isRoute, unwrap } from "./route-check.ts";

/**
 * Lists the routes of a Hono application for `server.audit`. `/files/*` also matches `/files` in Hono, and is
 * listed as both. Middleware and mounted applications are not routes: list a mounted application by
 * `routesOf(new Hono().route("/prefix", mounted))`. Routes that `protect` does not run in front of are marked
 * as unguarded; if the application has no guard, every route is, and the audit warns.
 *
 * @throws TypeError for anything else
 * @example
 * ```ts
 * import { Hono } from "hono";
 * import { createResourceServer } from "scopegate";
 * import { protect, routesOf } from "scopegate/hono";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = new Hono().use(protect(server)).get("/agents", (c) => c.json([]));
 * server.audit(routesOf(app)).orThrow();
 * ```
 */
export function routesOf(app: { readonly routes: readonly HonoRoute[] }): readonly ListedRoute[] {
  const { routes } = Object(app) as Partial<typeof app>;
  if (!routes) throw new TypeError("routesOf takes a Hono application: write routesOf(app).");
  const all = routes.map((one) => ({ ...one, handler: unwrap(one.handler), pattern: toPattern(one.path) }));
  const registrations = all.flatMap((route, index) => {
    const { method, path, basePath, handler } = route;
    const same = all.filter((one) => one.method === method && one.path === path);
    const last = all.lastIndexOf(same.at(-1) ?? route);
    // Behind a guard of other routes, the last handler does not show that this one runs behind the guard too.
    const isInFront = all.slice(index, last).some((one) => isGuard(one.handler) && !same.includes(one));
    const isPassing = isGuard(handler) || (handler.length > 1 && last !== index && !isInFront);
    if (!isRoute(route) || isPassing) return [];
    const guards = all.map((one) => {
      if (!isGuard(one.handler) || !["ALL", method].includes(one.method)) return [];
      return mayCover(one.path, path) ? pathsOf(one.pattern) : NOWHERE;
    });
    return writeOut(route.pattern).map((pattern) => {
      const isReadable = pathsOf(pattern).length > 0;
      // An unreadable route counts as guarded only if a guard covers its whole application.
      const place = findPlace(
        isReadable ? pattern : toPattern(`${basePath}/*`.replace("//", "/")),
        index,
        guards,
      );
      return {
        methods: [method === "ALL" ? "*" : method],
        pattern: isReadable ? pattern.replace(/\*"\*"$/, "*path") : `RegExp ${path}`,
        isPartial: path.includes("{"),
        unguarded:
          place &&
          describeUnguarded(
            place,
            same.map((one) => one.handler),
          ),
      };
    });
  });
  return listInOrder(registrations);
}

/** A path that no request has: such a guard covers no route. */
const NOWHERE: Paths = [[{ kind: "static", text: "\u0000" }]];

/** In Hono, a slash at the end matters. A parameter with a regular expression matches only some paths. */
const mayCover = (guard: string, route: string): boolean =>
  !guard.includes("{") && (guard.endsWith("*") || guard.endsWith("/") === route.endsWith("/"));
