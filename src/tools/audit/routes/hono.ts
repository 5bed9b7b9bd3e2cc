import { toPattern } from "../../../adapters/hono/pattern.ts";
import { type HonoRoute, isRoute, unwrap } from "../../../adapters/hono/route-check.ts";
import { isGuard, isScopeCheck } from "./guards.ts";
import { checkOptions } from "../../../core/options/check-options.ts";
import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { writeOut } from "../../../core/policy/route-comparison.ts";
import { SERVES } from "../mounts.ts";
import {
  describeUnguarded,
  findPlace,
  isMiddlewareListed,
  listInOrder,
  type Paths,
  pathsOf,
  type RoutesOptions,
} from "./registration.ts";

interface HonoApplication {
  readonly routes: readonly HonoRoute[];
}

/** Returns whether a value is a Hono application. */
export const isHono = (value: unknown): value is HonoApplication =>
  "basePath" in (Object(value) as object) && Array.isArray((value as Partial<HonoApplication>).routes);

/**
 * Lists the routes of a Hono application. In Hono, `/files/*` also matches `/files`, so both are listed.
 * Middleware isn't a route.
 */
export function listHono({ routes }: HonoApplication, options: RoutesOptions): readonly ListedRoute[] {
  checkOptions("routesOf", options, {});
  const all = routes.map((route) => ({
    ...route,
    handler: unwrap(route.handler),
    pattern: toPattern(route.path),
  }));
  const registrations = all.flatMap((route, index) => {
    const { method, path, basePath, handler } = route;
    const same = all.filter((other) => other.method === method && other.path === path);
    const last = all.lastIndexOf(same.at(-1) ?? route);
    // The last handler may be behind a guard for other routes, which doesn't show that this one is guarded.
    const isInFront = all.slice(index, last).some((other) => isGuard(other.handler) && !same.includes(other));
    const isPassing = isGuard(handler) || (handler.length > 1 && last !== index && !isInFront);
    if (isRoute(route) ? isPassing : isGuard(handler) || isScopeCheck(handler)) return [];
    const serves = isRoute(route) ? undefined : findServed(handler);
    // Earlier handlers at a path are middleware: the last one responds.
    if (serves === SERVES.handler && last !== index) return [];
    const guards = all.map((other) => {
      if (!isGuard(other.handler) || !["ALL", method].includes(other.method)) return [];
      return mayCover(other.path, path) ? pathsOf(other.pattern) : NOWHERE;
    });
    const handlers = same.map((other) => other.handler);
    return (serves === undefined ? writeOut(route.pattern) : [route.pattern]).flatMap((written) => {
      const isReadable = pathsOf(written).length > 0;
      const pattern = isReadable ? written.replace(/\*"\*"(?=\}?$)/, "*path") : `RegExp ${path}`;
      // An unreadable route counts as guarded only if a guard covers the whole application.
      const place = findPlace(
        isReadable ? pattern : toPattern(`${basePath}/*`.replace("//", "/")),
        index,
        guards,
      );
      const unguarded = place && describeUnguarded(place, handlers);
      if (!isMiddlewareListed({ pattern, serves, unguarded })) return [];
      return {
        methods: [serves === SERVES.files ? "GET" : method.replace("ALL", "*")],
        pattern,
        serves,
        isPartial: path.includes("{") || serves !== undefined,
        unguarded,
      };
    });
  });
  return listInOrder(registrations);
}

/** Finds out what middleware serves. The functions of `mount` and `serveStatic` have no names. */
function findServed(handler: unknown): string {
  const code = String(handler);
  if (code.includes("applicationHandler(")) return SERVES.application;
  return code.includes("getMimeType(") ? SERVES.files : SERVES.handler;
}

/** A path that no request has. A guard with it covers no route. */
const NOWHERE: Paths = [[{ kind: "static", text: "\u0000" }]];

/** In Hono, a trailing slash matters, and a parameter with a regular expression matches only some paths. */
const mayCover = (guard: string, route: string): boolean =>
  !guard.includes("{") && (guard.endsWith("*") || guard.endsWith("/") === route.endsWith("/"));
