/** What the lists of routes of all frameworks share. */
import { type ListedRoute, type UnguardedPlace } from "../audit/coverage.ts";
import { parseRoutePattern } from "../policy/route-fit.ts";
import { renderPattern } from "./pattern-source.ts";

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

/** Registrations as an audit reads routes: `*` for a handler of every method, and no HEAD route next to a GET route. */
export function listRoutes(registrations: readonly Registration[]): readonly ListedRoute[] {
  const routes = registrations.flatMap(({ methods, pattern, unguarded }) =>
    (isEveryMethod(methods) ? ["*"] : methods).map((method) =>
      Object.freeze({ method, pattern, ...(unguarded && { unguarded }) }),
    ),
  );
  const keys = new Set(routes.map((route) => keyOf(route.method, route)));
  return Object.freeze(routes.filter((route) => route.method !== "HEAD" || !keys.has(keyOf("GET", route))));
}

/** A pattern with each of its optional groups written out; one that cannot be read stays, and the audit reports it. */
export function writeOut(pattern: string): readonly string[] {
  const parsed = parseRoutePattern(pattern);
  return parsed ? parsed.alternatives.map(renderPattern) : [pattern];
}

/** A trailing slash makes no other route; what guards one of two registrations does not guard the other. */
const keyOf = (method: string, { pattern, unguarded }: Omit<ListedRoute, "method">): string =>
  `${unguarded ? "unguarded " : ""}${method} ${pattern.replace(/(?<=.)\/$/, "")}`;

const PLACES = {
  before: {
    place: "is registered before protect",
    hint: "Move app.use(protect(server)) in front of it.",
  },
  outside: {
    place: "is outside the paths that protect runs for",
    hint: "Write app.use(protect(server)) in front of all routes.",
  },
  plugin: {
    place: "is outside the plugin that protect is registered in",
    hint: "Move app.register(protect(server)) out of that plugin, to the instance that holds every route.",
  },
  router: {
    place: "is in a @koa/router that holds protect, where protect cannot guard it",
    hint: "Write app.use(protect(server)) in front of the router.",
  },
};

/** Where a route is that `protect` does not run in front of. */
export function unguardedPlace(place: keyof typeof PLACES, hasScopeCheck: boolean): UnguardedPlace {
  const consequence = hasScopeCheck
    ? "requireScopes finds no caller, and every request is answered with 500"
    : "its handler runs without any check";
  const { place: where, hint } = PLACES[place];
  return Object.freeze({ message: `${where}: ${consequence}.`, hint });
}

/** For an application in which no guard is found: another package may hide it, so this is a warning. */
export const NO_GUARD: UnguardedPlace = Object.freeze({
  message: "has no protect that the list of routes shows.",
  hint: "Write app.use(protect(server)) in front of all routes. If it is there, another package has wrapped it.",
  isUncertain: true,
});
