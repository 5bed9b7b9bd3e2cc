/**
 * The last check before a route runs. @koa/router runs every route that matches, one behind the other, and gives one sign
 * of it before: it assigns `context.router`. From then on each route of that router asks first.
 */
import { type Refusal } from "../../response/refusal.ts";
import { foresee, guardRoute, isGuarded, isSettled, isSettledByRules } from "../guard.ts";
import {
  isRouter,
  type KoaContext,
  type KoaLayer,
  type KoaMiddleware,
  type KoaRouter,
  send,
} from "./context.ts";
import {
  isMatched,
  isWiderThanWritten,
  patternsOf,
  readRequest,
  readRoute,
  readRouted,
} from "./next-route.ts";
import { isGuard } from "../middleware-marks.ts";

/** Where a context keeps the router that was assigned to it. */
const ASSIGNED = Symbol("router");

/** The target that all routers so far have found their routes for; `NO_TARGET` where they have not found them for one. */
const ROUTED = Symbol("routed");

/** No request is let in that has none. */
const NO_TARGET = "";

interface Watched {
  [ASSIGNED]?: unknown;
  [ROUTED]?: string;
}

const ROUTER: PropertyDescriptor & ThisType<Watched> = {
  configurable: true,
  enumerable: true,
  get() {
    return this[ASSIGNED];
  },
  set(router: unknown) {
    this[ASSIGNED] = router;
    const routed = readRouted(this as Watched & KoaContext);
    const { [ROUTED]: former = routed } = this;
    this[ROUTED] = former === routed ? routed : NO_TARGET;
    // The handlers of this request are lined up next, from what was matched.
    for (const { stack } of findUnchecked(this as Watched & KoaContext))
      (stack as unknown[]).splice(0, stack.length, ...withChecks(stack));
  },
};

/** Has every route that a request reaches from now on ask the guards of the request. */
export function watchRouters(context: object): void {
  const watched: Watched & { router?: unknown } = context;
  watched[ASSIGNED] = watched.router;
  // A router in front of the guard may have found its routes for anything.
  if (watched.router !== undefined) watched[ROUTED] = NO_TARGET;
  Object.defineProperty(watched, "router", ROUTER);
}

/** The guards that stand inside of a router. */
const insideGuards = new WeakMap<object, KoaMiddleware>();

/**
 * Remembers a guard that stands inside of a router. @koa/router minds letter case for the prefix of a middleware and not for
 * its routes: `/API/agents` reaches a route of `/api` without the middleware of the router. From the first request on that
 * the guard sees, the routes send such a request through it; until then nobody knows of it, which is worth a warning.
 */
export function rememberInside({ matched = [], router }: KoaContext, guard: KoaMiddleware): void {
  if (!isRouter(router) || insideGuards.has(router)) return;
  const own = matched.find(({ methods, stack }) => methods.length === 0 && stack.includes(guard));
  if (!own) return;
  insideGuards.set(router, guard);
  replaceLayers(router);
  const isPassedBy = own.regexp && !own.regexp.ignoreCase && /[a-z]/i.test(String(own.path));
  if (!isPassedBy || router.opts.sensitive) return;
  process.emitWarning(
    "protect stands in a router with a prefix, where @koa/router passes it by for another letter case. Write app.use(protect(server)), or make the router with { sensitive: true }.",
    "ScopegateWarning",
  );
}

/** The routes that were matched for a request and do not ask. */
export const findUnchecked = ({ matched = [] }: KoaContext): readonly KoaLayer[] =>
  matched.filter(({ methods, stack }) => methods.length > 0 && !stack.includes(checkRoute));

/**
 * Passes on to routes that a router lined up without the check, because the guard stands inside of it. The router says by
 * `context.routerPath` which is next: one that is refused is kept from running by a throw, which ends here. For later
 * requests the routes are replaced, so that what was lined up from the old ones can be told.
 */
export async function passOnTo(
  unchecked: readonly KoaLayer[],
  context: KoaContext,
  next: () => Promise<unknown>,
): Promise<void> {
  if (isRouter(context.router)) replaceLayers(context.router);
  const refusals = new Map<unknown, Refusal | undefined>();
  for (const { path } of unchecked) refusals.set(path, await foresee(context.req, readRoute(context, path)));
  let { routerPath } = context;
  let refused = refusals.get(routerPath);
  Object.defineProperty(context, "routerPath", {
    configurable: true,
    enumerable: true,
    get: () => routerPath,
    set(path: KoaContext["routerPath"]) {
      routerPath = path;
      refused = refusals.get(path);
      if (refused) throw new Error("The next route is refused.");
    },
  });
  try {
    if (!refused) await next();
  } catch (error) {
    if (!refused) throw error;
  }
  if (refused) send(context, refused);
}

function replaceLayers({ stack }: KoaRouter): void {
  for (const [index, layer] of stack.entries()) {
    if (layer.methods.length > 0 && !layer.stack.includes(checkRoute))
      (stack as KoaLayer[])[index] = withCheck(layer);
  }
}

const withCheck = (layer: KoaLayer): KoaLayer =>
  Object.assign(Object.create(Object.getPrototypeOf(layer) as object) as KoaLayer, layer, {
    stack: withChecks(layer.stack),
  });

/** In front of the handlers, and behind each guard among them, which has nothing to be asked for before. */
const withChecks = (stack: readonly unknown[]): readonly unknown[] => [
  checkRoute,
  ...stack.flatMap((handle) => (isGuard(handle) ? [handle, checkRoute] : [handle])),
];

const checkRoute: KoaMiddleware = async (context, next) => {
  const inside = isRouter(context.router) ? insideGuards.get(context.router) : undefined;
  if (inside && !isGuarded(context.req)) return inside(context, () => checkRoute(context, next));
  const route = isSettledAsMatched(context) ? undefined : readRoute(context, context.routerPath);
  const refusal = route && !isSettled(context.req, route) ? await guardRoute(context.req, route) : undefined;
  if (refusal) send(context, refusal);
  else await next();
};

/** Whether a request that is still the one that was matched has nothing left to be asked, whatever its route is written as. */
function isSettledAsMatched(context: Watched & KoaContext): boolean {
  const { mountPath, routerPath } = context;
  const request = readRequest(context);
  return (
    mountPath === undefined &&
    context[ROUTED] === request.target &&
    isMatched(context, routerPath, request) &&
    !isWiderThanWritten(context, routerPath) &&
    isSettledByRules(context.req, request, patternsOf(routerPath, "").sources)
  );
}
