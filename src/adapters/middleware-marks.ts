/** Tells what `protect` and `requireScopes` have made, so that a list of routes knows where they stand. */

const guards = new WeakSet<object>();
const scopeChecks = new WeakSet<object>();

/** Marks what `protect` returns. */
export function asGuard<Middleware extends object>(middleware: Middleware): Middleware {
  guards.add(middleware);
  return middleware;
}

/** Marks what `requireScopes` returns. */
export function asScopeCheck<Middleware extends object>(middleware: Middleware): Middleware {
  scopeChecks.add(middleware);
  return middleware;
}

/** Marks what runs in the place of a middleware as that is marked. */
export function inPlaceOf<Middleware extends object>(original: object, middleware: Middleware): Middleware {
  if (guards.has(original)) guards.add(middleware);
  if (scopeChecks.has(original)) scopeChecks.add(middleware);
  return middleware;
}

export const isGuard = (value: unknown): boolean => guards.has(Object(value) as object);
export const isScopeCheck = (value: unknown): boolean => scopeChecks.has(Object(value) as object);
