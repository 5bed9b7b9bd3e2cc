/**
 * The last check before a route runs. @koa/router runs every route that matches, one behind the other, and gives one sign
 * of it before: it assigns `context.router`. From then on each route of that router asks first.
 */
import { literalPattern, type PlainPattern, writeOut } from "../policy/plain-pattern.ts";
import { pathOf, readTarget as readPath } from "../request.ts";
import { guardRoute, isSettled, type PickedRoute } from "./guard.ts";
import { type KoaContext, type KoaMiddleware, readTarget, send } from "./koa-context.ts";

/** The part of @koa/router that is read. */
export interface KoaRouter {
  readonly opts: { readonly sensitive?: boolean | undefined; readonly strict?: boolean | undefined };
  readonly stack: readonly KoaLayer[];
}

/** A route of a router; a middleware of it has no methods. */
export interface KoaLayer {
  readonly path: string | RegExp;
  readonly methods: readonly string[];
  readonly stack: readonly unknown[];
}

const routers = new WeakMap<object, unknown>();

const ROUTER: PropertyDescriptor & ThisType<object> = {
  configurable: true,
  enumerable: true,
  get() {
    return routers.get(this);
  },
  set(router: unknown) {
    routers.set(this, router);
    if (isRouter(router)) guardLayers(router);
  },
};

/** Has every route that a request reaches from now on ask the guards of the request. */
export function watchRouters(context: object): void {
  const watched: { router?: unknown } = context;
  const { router } = watched;
  Object.defineProperty(watched, "router", ROUTER);
  watched.router = router;
}

export const isRouter = (value: unknown): value is KoaRouter =>
  (typeof value === "object" || typeof value === "function") &&
  value !== null &&
  "opts" in value &&
  "stack" in value &&
  Array.isArray(value.stack);

/** How many layers of a router ask already; a router only ever gets more. */
const guardedLayers = new WeakMap<readonly KoaLayer[], number>();

function guardLayers({ stack }: KoaRouter): void {
  const known = guardedLayers.get(stack) ?? 0;
  if (known === stack.length) return;
  for (const layer of stack) {
    // A nested router hands its layers on with the check in them.
    if (layer.methods.length > 0 && !layer.stack.includes(checkRoute))
      (layer.stack as unknown[]).unshift(checkRoute);
  }
  guardedLayers.set(stack, stack.length);
}

const checkRoute: KoaMiddleware = async (context, next) => {
  const route = readRoute(context);
  const refusal = isSettled(context.req, route) ? undefined : await guardRoute(context.req, route);
  if (refusal) send(context, refusal);
  else await next();
};

function readRoute(context: KoaContext): PickedRoute {
  const target = readTarget(context);
  const path = readPath(target);
  const patterns = path ? patternsOf(context, pathOf(target)).filter(({ matches }) => matches(path)) : [];
  return { method: context.method, target, patterns: patterns.map(({ source }) => source) };
}

const writtenOut = new Map<string, readonly PlainPattern[]>();

/** As many as an application has routes; a router that makes them up must not fill the memory. */
const MAX_PATTERNS = 10_000;

/** The patterns of the route that runs, with the text of the mounts that koa-mount has stripped. */
function patternsOf(context: KoaContext, whole: string): readonly PlainPattern[] {
  const { routerPath } = context;
  if (typeof routerPath !== "string") return [];
  const mount = context.mountPath === undefined ? "" : literalPattern(readMount(context.path, whole));
  const pattern = `${mount}${routerPath}`;
  const known = writtenOut.get(pattern) ?? writeOut(pattern);
  if (writtenOut.size >= MAX_PATTERNS) writtenOut.clear();
  writtenOut.set(pattern, known);
  return known;
}

const readMount = (path: string, whole: string): string =>
  whole.endsWith(path) ? whole.slice(0, whole.length - path.length) : whole;
