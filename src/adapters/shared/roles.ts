/** Marks the middleware of `protect` and `requireScopes`, so that `routesOf` can find it. */

type Role = "guard" | "scope check";

/** A string, for an enumerable property: tracing packages copy only such properties to their wrappers. */
const ROLE = "scopegateRole";

export function withRole<Middleware extends object>(role: Role, middleware: Middleware): Middleware {
  Object.defineProperty(middleware, ROLE, { value: role, enumerable: true });
  return middleware;
}

/** Returns the role of middleware, or of the `__original` that a tracing package has wrapped. */
function roleOf(middleware: unknown, left = 10): Role | undefined {
  if (typeof middleware !== "function" || left === 0) return undefined;
  const { [ROLE]: role, __original } = middleware as { [ROLE]?: Role; __original?: unknown };
  return role ?? roleOf(__original, left - 1);
}

export const isGuard = (middleware: unknown): boolean => roleOf(middleware) === "guard";
export const isScopeCheck = (middleware: unknown): boolean => roleOf(middleware) === "scope check";
