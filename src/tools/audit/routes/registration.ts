/** Shared code for listing the routes of all frameworks. */
import { isScopeCheck } from "./guards.ts";
import type { ListedRoute, UnguardedPlace } from "../../../core/policy/listed-route.ts";
import type { PatternSegment } from "../../../core/policy/pattern.ts";
import { parseRoutePattern } from "../../../core/policy/route-comparison.ts";
import { compact } from "../../../core/runtime/compact.ts";
import { recordPosition } from "../hidden-routes.ts";
import { coversInCase } from "../letter-case.ts";
import { ROOT, SERVES } from "../mounts.ts";

/** How the routes of an application are listed. */
export interface RoutesOptions {
  /** Koa: the path that was passed to koa-mount, such as `/api`. Default: none. */
  readonly prefix?: string;
  /** Express: the applications that are mounted in this one, which Express hides. Default: none. */
  readonly mounted?: readonly object[];
}

/** A registered route: a pattern, and the methods that reach its handler. */
export interface Registration {
  readonly methods: readonly string[];
  readonly pattern: string;
  readonly unguarded?: UnguardedPlace | undefined;
  readonly serves?: string | undefined;
  /** Whether the route may match fewer paths than its pattern: a regular expression, or existing files. */
  readonly isPartial?: boolean;
}

/** A handler with these methods counts as one for every method. */
const EVERY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

export const isEveryMethod = (methods: readonly string[]): boolean =>
  EVERY.every((method) => methods.includes(method));

/** Converts registrations for the audit: `*` for a handler for every method, and no HEAD next to a GET. */
export const listRoutes = (registrations: readonly Registration[]): readonly ListedRoute[] =>
  withoutRedundantHead(registrations.flatMap(toRoutes));

/** Like `listRoutes`, for a framework that runs the first route that matches, and for routes in its order. */
export function listInOrder(registrations: readonly Registration[]): readonly ListedRoute[] {
  const listed = registrations.flatMap((registration, index) => {
    const isPartial = registration.isPartial === true;
    const routes = toRoutes(registration);
    for (const route of routes) recordPosition(route, { list: registrations, index, isPartial });
    return routes;
  });
  return withoutRedundantHead(listed);
}

const toRoutes = ({ methods, pattern, serves, unguarded }: Registration): readonly ListedRoute[] =>
  (isEveryMethod(methods) ? ["*"] : methods).map((method) =>
    Object.freeze({ method, pattern, ...compact({ serves, unguarded }) }),
  );

/** Returns the routes without HEAD next to a GET. */
function withoutRedundantHead(routes: readonly ListedRoute[]): readonly ListedRoute[] {
  const keys = new Set(routes.map((route) => keyOf(route.method, route)));
  return Object.freeze(routes.filter((route) => route.method !== "HEAD" || !keys.has(keyOf("GET", route))));
}

/**
 * A trailing slash doesn't make another route. If a route is registered twice, one registration may be
 * unguarded.
 */
const keyOf = (method: string, { pattern, unguarded }: Omit<ListedRoute, "method">): string =>
  `${unguarded ? "unguarded " : ""}${method} ${pattern.replace(/(?<=.)\/$/, "")}`;

const PLACES = {
  before: {
    place: "is registered before protect",
    hint: "Move app.use(protect(server)) before it.",
  },
  outside: {
    place: "is outside the paths of protect",
    hint: "Write app.use(protect(server)) before all routes.",
  },
  skipped: {
    place: 'is behind a protect that earlier middleware can skip with next("router")',
    hint: "Write app.use(protect(server)) before the router, or register it first in the router.",
  },
  plugin: {
    place: "is outside the plugin of protect",
    hint: "Register protect on the instance that holds every route.",
  },
  router: {
    place: "is in a router that contains protect",
    hint: "Write app.use(protect(server)) before the router.",
  },
  unregistered: {
    place: "has no protect that routesOf can find",
    hint: "Write await app.register(protect(server)) on the instance that holds every route.",
  },
  unknown: {
    place: "has no protect that routesOf can find",
    hint: "Write app.use(protect(server)) before all routes. If it is already there, another package has wrapped it.",
  },
} as const;

/** Where an unguarded route is; `unknown` if the application has no guard. */
export type UnguardedRoute = keyof typeof PLACES;

export function describeUnguarded(route: UnguardedRoute, handlers: readonly unknown[]): UnguardedPlace {
  const { place, hint } = PLACES[route];
  // Another package may hide the guard, so the audit only warns.
  if (route === "unknown" || route === "unregistered")
    return Object.freeze({ message: `${place}.`, hint, isUncertain: true });
  const consequence = handlers.some(isScopeCheck)
    ? "requireScopes finds no caller, and every request gets 500"
    : "its handler runs without any check";
  return Object.freeze({ message: `${place}: ${consequence}.`, hint });
}

/**
 * Returns whether the audit needs to know middleware. Handlers behind a guard are usually middleware, and so
 * are handlers for every path. CORS middleware is only a mistake behind a guard.
 */
export function isMiddlewareListed({ pattern, serves, unguarded }: Omit<Registration, "methods">): boolean {
  if (serves === SERVES.lateCors) return !unguarded;
  if (serves !== SERVES.handler) return true;
  const isReadable = pathsOf(pattern).length > 0;
  return isReadable && pattern !== ROOT && unguarded !== undefined && !unguarded.isUncertain;
}

/** The alternatives of the patterns that a guard runs for; empty for other middleware. */
export type Paths = readonly (readonly PatternSegment[])[];

export const pathsOf = (pattern: string): Paths =>
  parseRoutePattern(pattern)?.alternatives.map(({ segments }) => segments) ?? [];

/**
 * Returns where an unguarded route is; `undefined` if a guard runs before it. `guards` are the paths of each
 * guard, in the order in which a request reaches them; the route is at `index`.
 */
export function findPlace(
  pattern: string,
  index: number,
  guards: readonly Paths[],
): UnguardedRoute | undefined {
  const first = guards.findIndex((paths) => isCovered(paths, pattern));
  if (first >= 0) return first < index ? undefined : "before";
  return guards.some((paths) => paths.length > 0) ? "outside" : "unknown";
}

/**
 * Returns whether a guard runs for every path of a route. A guard at `/agents/:id` doesn't run for `/agents`.
 * A router may be case-sensitive, so a guard at `/API` may not run for `/api`.
 */
const isCovered = (guarded: Paths, pattern: string): boolean =>
  guarded.length > 0 && pathsOf(pattern).every((route) => guarded.some((path) => coversInCase(path, route)));
