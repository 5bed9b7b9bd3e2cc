import { writeOut } from "../policy/plain-pattern.ts";
import { type ListedRoute, type UnguardedPlace } from "../audit/coverage.ts";

/** What a framework registered: one pattern, and the methods that reach its handler. */
export interface Registration {
  readonly methods: readonly string[];
  readonly pattern: string;
  /** Where it stands, if it is known that no guard runs in front of it. */
  readonly unguarded?: UnguardedPlace | undefined;
}

/** The methods that a handler for every method has in each framework, whatever else Node.js receives. */
const EVERY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

export const isEveryMethod = (methods: readonly string[]): boolean =>
  EVERY.every((method) => methods.includes(method));

/**
 * Registrations as an audit reads routes: a handler for every method is one route, and HEAD beside GET is none of its own,
 * because the table decides it with GET.
 */
export function listRoutes(registrations: readonly Registration[]): readonly ListedRoute[] {
  const routes = registrations.flatMap(({ methods, pattern, unguarded }) =>
    (isEveryMethod(methods) ? ["*"] : methods).map((method) => ({
      method,
      pattern,
      ...(unguarded && { unguarded }),
    })),
  );
  const places = new Set(routes.map((route) => placeOf(route.method, route)));
  return Object.freeze(
    routes
      .filter((route) => route.method !== "HEAD" || !places.has(placeOf("GET", route)))
      .map((route) => Object.freeze(route)),
  );
}

/**
 * A pattern of a router whose requests are decided path by path, each of its optional groups written out: rules for its
 * parts are enough. What cannot be read stays as it is, and is reported.
 */
export function toWrittenPatterns(pattern: string): readonly string[] {
  const plain = writeOut(pattern).map(({ source }) => unquote(source));
  return plain.length > 0 ? plain : [pattern];
}

/** A pattern as one writes it in the table: without quotes around names that need none. */
export const unquote = (pattern: string): string =>
  pattern.replaceAll(/([:*])"([A-Za-z_]\w*)"(?![\w$\u0080-\uffff])/g, "$1$2");

/** A trailing slash makes no other route; what one of two is guarded by is not the other one's guard. */
const placeOf = (method: string, { pattern, unguarded }: Omit<ListedRoute, "method">): string =>
  `${unguarded ? "unguarded " : ""}${method} ${pattern.replace(/(?<=.)\/$/, "")}`;
