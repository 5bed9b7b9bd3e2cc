/** Marks the middleware that `protect` and `requireScopes` make, so that a list of routes shows where they stand. */

type Role = "guard" | "scope check";

/** Enumerable and a string, because tracing packages copy only such properties to the functions that they wrap with. */
const ROLE = "scopegateRole";

export function withRole<Middleware extends object>(role: Role, middleware: Middleware): Middleware {
  Object.defineProperty(middleware, ROLE, { value: role, enumerable: true });
  return middleware;
}

/** How many wrappers of tracing packages are looked through. */
const MAX_WRAPPERS = 10;

/** The role of a middleware, or of one that a tracing package has wrapped and kept as `__original`. */
function roleOf(middleware: unknown): Role | undefined {
  let current = middleware;
  for (let left = MAX_WRAPPERS; left > 0 && typeof current === "function"; left -= 1) {
    const { [ROLE]: role, __original } = current as { readonly [ROLE]?: Role; readonly __original?: unknown };
    if (role) return role;
    current = __original;
  }
  return undefined;
}

export const isGuard = (middleware: unknown): boolean => roleOf(middleware) === "guard";
export const isScopeCheck = (middleware: unknown): boolean => roleOf(middleware) === "scope check";
