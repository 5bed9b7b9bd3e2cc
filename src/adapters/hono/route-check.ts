/**
 * The check at each matched route. Hono calls all handlers that its router found, in the order of
 * registration, and reads each one from an array before it runs. There, the check is put before the handler,
 * once.
 */
import { guardRoute } from "../shared/guard.ts";
import { type HonoContext, type Next, proceed, readTarget } from "./context.ts";
import { toPattern } from "./pattern.ts";

/** A handler that a Hono application has registered. */
export interface HonoRoute {
  /** The base path of the application in which the handler was registered. */
  readonly basePath: string;
  /** The whole path of the route, in Hono's syntax. */
  readonly path: string;
  /** The method in upper case; `ALL` for every method. */
  readonly method: string;
  /** The registered function, or a function in which Hono has wrapped it. */
  readonly handler: unknown;
}

type Handler = (context: HonoContext, next: Next) => unknown;
type Matched = [handler: Handler, route: HonoRoute];

const seen = new WeakSet<Matched>();

/** Checks every route that this request reaches from now on, for each guard that it has passed. */
export function checkRoutes({ req }: HonoContext): void {
  for (const [matched] of matchedOf(req)) {
    if (seen.has(matched)) continue;
    if (isRoute(matched[1])) matched[0] = behindCheck(...matched);
    seen.add(matched);
  }
}

/**
 * Returns whether a handler belongs to a route. `app.use` and `app.mount` register functions with a `next`
 * for every method below a path. They don't count as routes: Hono doesn't report how they were registered.
 */
export const isRoute = ({ method, path, handler }: HonoRoute): boolean =>
  method !== "ALL" || !path.endsWith("*") || unwrap(handler).length < 2;

/** Returns the registered function, without the error handler of an application passed to `route`. */
export function unwrap(handler: unknown): Handler {
  const { __COMPOSED_HANDLER: inner } = handler as { readonly __COMPOSED_HANDLER?: unknown };
  return inner ? unwrap(inner) : (handler as Handler);
}

function behindCheck(handler: Handler, { method: routeMethod, path }: HonoRoute): Handler {
  const written = [toPattern(path)];
  const find = (context: HonoContext) => {
    const { method } = context.req.raw;
    // If the method has changed since the route was matched, the route doesn't match the request.
    const patterns = ["ALL", method === "HEAD" ? "GET" : method].includes(routeMethod) ? written : undefined;
    const req = context.req as HonoContext["req"] & { param(name: string): unknown };
    // Reads only this parameter, because Hono decodes each one when it's read.
    const readValue = (name: string) => req.param(name);
    return { method, target: readTarget(context), patterns, readValue };
  };
  return (context, next) =>
    proceed(
      context,
      guardRoute(context, () => find(context)),
      () => handler(context, next),
    );
}

/** The key under which requests store the router's result. Each copy of Hono has a symbol and a prototype. */
const keys = new WeakMap<object, symbol>();

function matchedOf(req: object): readonly (readonly [Matched, ...unknown[]])[] {
  const prototype = Object.getPrototypeOf(req) as object;
  const read = (key: symbol) => (Reflect.get(req, key) as readonly unknown[] | undefined)?.[0];
  const symbols = Object.getOwnPropertySymbols;
  const key = keys.get(prototype) ?? symbols(prototype).find((symbol) => Array.isArray(read(symbol)));
  if (!key) throw new TypeError("protect can't check the routes of this Hono: install Hono 4.8 or later.");
  keys.set(prototype, key);
  return read(key) as ReturnType<typeof matchedOf>;
}
