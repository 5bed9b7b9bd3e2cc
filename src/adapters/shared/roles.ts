/** Marks the middleware of `protect` and `requireScopes`, so that `routesOf` can find it. */

type Role = "guard" | "scope check";

/** Strings, for enumerable properties: tracing packages copy only such properties to their wrappers. */
const ROLE = "scopegateRole";
const SERVER = "scopegateServer";

interface Marked {
  readonly [ROLE]?: Role;
  readonly [SERVER]?: () => object;
  readonly __original?: unknown;
}

/** Marks middleware, a guard with the server that decides. */
export function withRole<Middleware extends object>(
  role: Role,
  middleware: Middleware,
  server?: object,
): Middleware {
  Object.defineProperty(middleware, ROLE, { value: role, enumerable: true });
  // A function, because the server itself would be printed with its middleware.
  if (server) Object.defineProperty(middleware, SERVER, { value: () => server, enumerable: true });
  return middleware;
}

/** Returns the marked middleware, or the `__original` that a tracing package has wrapped. */
function findMarked(middleware: unknown, left = 10): Marked | undefined {
  if (typeof middleware !== "function" || left === 0) return undefined;
  const marked = middleware as Marked;
  return marked[ROLE] === undefined ? findMarked(marked.__original, left - 1) : marked;
}

/** The server whose guards count, during `withGuardsOf`. */
let countedServer: object | undefined;

/** Runs a function in which only the guards of one server count as guards. */
export function withGuardsOf<Result>(server: object, run: () => Result): Result {
  countedServer = server;
  try {
    return run();
  } finally {
    countedServer = undefined;
  }
}

export const isCounted = (server: object): boolean => countedServer === undefined || countedServer === server;

export function isGuard(middleware: unknown): boolean {
  const marked = findMarked(middleware);
  if (marked?.[ROLE] !== "guard") return false;
  return countedServer === undefined || marked[SERVER]?.() === countedServer;
}

export const isScopeCheck = (middleware: unknown): boolean =>
  findMarked(middleware)?.[ROLE] === "scope check";
