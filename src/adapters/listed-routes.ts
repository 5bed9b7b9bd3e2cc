import { writeOut } from "../policy/plain-pattern.ts";
import { type ListedRoute } from "../policy/route-coverage.ts";

/** What a framework registered: one pattern, and the methods that reach its handler. */
export interface Registration {
  readonly methods: readonly string[];
  readonly pattern: string;
}

/** The methods that a handler for every method has in each framework, whatever else Node.js receives. */
const EVERY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/**
 * Registrations as an audit reads routes: a handler for every method is one route, and HEAD beside GET is none of its own,
 * because the table decides it with GET.
 */
export function listRoutes(registrations: readonly Registration[]): readonly ListedRoute[] {
  const routes = registrations.flatMap(({ methods, pattern }) =>
    (EVERY.every((method) => methods.includes(method)) ? ["*"] : methods).map((method) => ({
      method,
      pattern,
    })),
  );
  const places = new Set(routes.map(({ method, pattern }) => placeOf(method, pattern)));
  return Object.freeze(
    routes
      .filter(({ method, pattern }) => method !== "HEAD" || !places.has(placeOf("GET", pattern)))
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

/** A trailing slash makes no other route. */
const placeOf = (method: string, pattern: string): string => `${method} ${pattern.replace(/(?<=.)\/$/, "")}`;
