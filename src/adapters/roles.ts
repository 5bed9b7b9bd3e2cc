/** Marks the middleware of `protect` and `requireScopes`, so that a list of routes shows where they stand. */

type Role = "guard" | "scope check";

/** Enumerable and a string: tracing packages copy only such properties to the functions they wrap with. */
const ROLE = "scopegateRole";

export function withRole<Middleware extends object>(role: Role, middleware: Middleware): Middleware {
  Object.defineProperty(middleware, ROLE, { value: role, enumerable: true });
  return middleware;
}

const MAX_WRAPPERS = 10;

/** The role of a middleware, or of one that a tracing package has wrapped and kept as `__original`. */
function roleOf(middleware: unknown, left = MAX_WRAPPERS): Role | undefined {
  if (typeof middleware !== "function" || left === 0) return undefined;
  const { [ROLE]: role, __original } = middleware as { [ROLE]?: Role; __original?: unknown };
  return role ?? roleOf(__original, left - 1);
}

export const isGuard = (middleware: unknown): boolean => roleOf(middleware) === "guard";
export const isScopeCheck = (middleware: unknown): boolean => roleOf(middleware) === "scope check";
