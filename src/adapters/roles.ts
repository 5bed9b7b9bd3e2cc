/** Marks the middleware of `protect` and `requireScopes`, so that `routesOf` can find it. */

type Role = "guard" | "scope check";

/** Enumerable and a string: tracing packages copy only such properties to the functions they wrap with. */
const ROLE = "scopegateRole";

export function withRole<Middleware extends object>(role: Role, middleware: Middleware): Middleware {
  Object.defineProperty(middleware, ROLE, { value: role, enumerable: true });
  return middleware;
}

/** The role of middleware, or of middleware that tracing packages have wrapped and stored as `__original`. */
function roleOf(middleware: unknown, left = 10): Role | undefined {
  if (typeof middleware !== "function" || left === 0) return undefined;
  const { [ROLE]: role, __original } = middleware as { [ROLE]?: Role; __original?: unknown };
  return role ?? roleOf(__original, left - 1);
}

export const isGuard = (middleware: unknown): boolean => roleOf(middleware) === "guard";
export const isScopeCheck = (middleware: unknown): boolean => roleOf(middleware) === "scope check";
