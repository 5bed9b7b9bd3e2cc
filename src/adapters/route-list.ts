/** What the lists of routes of all frameworks share. */
import { type ListedRoute, type UnguardedPlace } from "../audit/coverage.ts";
import { parseRoutePattern } from "../policy/route-fit.ts";
import { isScopeCheck } from "./roles.ts";
import { renderPattern } from "../policy/render-pattern.ts";

/** What a framework registered: one pattern, and the methods that reach its handler. */
export interface Registration {
  readonly methods: readonly string[];
  readonly pattern: string;
  readonly unguarded?: UnguardedPlace | undefined;
}

/** The methods that a handler for every method has in each framework, whatever else Node.js receives. */
const EVERY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

export const isEveryMethod = (methods: readonly string[]): boolean =>
  EVERY.every((method) => methods.includes(method));

/** Registrations as an audit reads routes: `*` for a handler of every method, and no HEAD next to a GET. */
export function listRoutes(registrations: readonly Registration[]): readonly ListedRoute[] {
  const routes = registrations.flatMap(({ methods, pattern, unguarded }) =>
    (isEveryMethod(methods) ? ["*"] : methods).map((method) =>
      Object.freeze({ method, pattern, ...(unguarded && { unguarded }) }),
    ),
  );
  const keys = new Set(routes.map((route) => keyOf(route.method, route)));
  return Object.freeze(routes.filter((route) => route.method !== "HEAD" || !keys.has(keyOf("GET", route))));
}

/** A pattern with its optional groups written out; an unreadable one stays, and the audit reports it. */
export function writeOut(pattern: string): readonly string[] {
  const parsed = parseRoutePattern(pattern);
  return parsed ? parsed.alternatives.map(renderPattern) : [pattern];
}

/** A trailing slash makes no other route; what guards one of two registrations does not guard the other. */
const keyOf = (method: string, { pattern, unguarded }: Omit<ListedRoute, "method">): string =>
  `${unguarded ? "unguarded " : ""}${method} ${pattern.replace(/(?<=.)\/$/, "")}`;

const PLACES = {
  before: ["is registered before protect", "Move app.use(protect(server)) in front of it."],
  outside: ["is outside the paths of protect", "Write app.use(protect(server)) in front of all routes."],
  plugin: ["is outside the plugin of protect", "Register protect on the instance that holds every route."],
  router: ["is in a router that holds protect", "Write app.use(protect(server)) in front of the router."],
} as const;

/** For an application in which no guard is found: another package may hide it, so this is a warning. */
const UNKNOWN: UnguardedPlace = Object.freeze({
  message: "has no protect that the list of routes shows.",
  hint: "Write app.use(protect(server)) in front of all routes. If it is there, another package has wrapped it.",
  isUncertain: true,
});

/** Where a route is that `protect` does not run before; `unknown` if the application has no guard at all. */
export type UnguardedRoute = keyof typeof PLACES | "unknown";

export function describeUnguarded(route: UnguardedRoute, handlers: readonly unknown[]): UnguardedPlace {
  if (route === "unknown") return UNKNOWN;
  const [place, hint] = PLACES[route];
  const consequence = handlers.some(isScopeCheck)
    ? "requireScopes finds no caller, and every request is answered with 500"
    : "its handler runs without any check";
  return Object.freeze({ message: `${place}: ${consequence}.`, hint });
}
