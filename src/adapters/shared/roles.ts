/** Marks the middleware of `protect` and `requireScopes`, so that `routesOf` can find it. */

/** Strings, for enumerable properties: tracing packages copy only such properties to their wrappers. */
interface Marked {
  readonly scopegateRole?: "guard" | "scope check";
  /** A function, because the server itself would be printed with its middleware. */
  readonly scopegateServer?: () => object;
  readonly __original?: unknown;
}

/** Marks middleware, a guard with the server that decides. */
export function withRole<Middleware extends object>(
  role: NonNullable<Marked["scopegateRole"]>,
  middleware: Middleware,
  server?: object,
): Middleware {
  Object.defineProperty(middleware, "scopegateRole", { value: role, enumerable: true });
  if (server) Object.defineProperty(middleware, "scopegateServer", { value: () => server, enumerable: true });
  return middleware;
}

/** Returns the marked middleware, or the `__original` that a tracing package has wrapped. */
export function findMarked(middleware: unknown, left = 10): Marked | undefined {
  if (typeof middleware !== "function" || left === 0) return undefined;
  const marked = middleware as Marked;
  return marked.scopegateRole === undefined ? findMarked(marked.__original, left - 1) : marked;
}
