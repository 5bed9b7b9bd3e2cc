/**
 * The check at the route that runs. @koa/router runs every route that matches, and assigns `context.router` before it
 * lines up their handlers. An accessor on the prototype of all contexts notices it and puts a check in front of them.
 */
import { guardRoute, isGuarded, type PendingRefusal } from "../guard.ts";
import { EXPRESSION, literalPattern } from "../pattern-source.ts";
import {
  isRouter,
  type KoaContext,
  type KoaLayer,
  type MountedTarget,
  passOn,
  readTarget,
} from "./context.ts";

/** Where a context keeps the router that was assigned to it. */
const ASSIGNED = Symbol("router");

type Watched = KoaContext & { [ASSIGNED]?: unknown };

const watched = new WeakSet<object>();

/** Checks every route that a request reaches from now on, for each guard that the request has passed. */
export function watchRouters(context: Watched): void {
  const prototype = Object.getPrototypeOf(context) as object;
  const holder = context.app?.context === prototype ? prototype : context;
  if (watched.has(holder)) return;
  watched.add(holder);
  const present = Object.getOwnPropertyDescriptor(holder, "router");
  const own: unknown = Object.hasOwn(context, "router") ? context.router : undefined;
  delete (context as { router?: unknown }).router;
  Object.defineProperty(holder, "router", {
    configurable: true,
    enumerable: true,
    get(this: Watched) {
      return this[ASSIGNED];
    },
    set(this: Watched, router: unknown) {
      this[ASSIGNED] = router;
      // Another copy of the package may watch the same contexts.
      present?.set?.call(this, router);
      for (const layer of this.matched ?? []) putCheck(layer);
    },
  });
  context[ASSIGNED] = own;
}

type Check = (context: Watched, next: () => Promise<unknown>) => unknown;

const checks = new WeakSet<object>();
const checkedLayers = new WeakSet<KoaLayer>();

/** A router that is nested in another one copies its routes, and the checks that are bound to the old routes with them. */
function putCheck(layer: KoaLayer): void {
  if (checkedLayers.has(layer) || layer.methods.length === 0) return;
  checkedLayers.add(layer);
  const check: Check = (context, next) =>
    passOn(context, isGuarded(context.req) ? checkRoute(context, layer) : undefined, next);
  checks.add(check);
  const handlers = layer.stack.filter((handle) => !checks.has(handle as object));
  // A new array: the routes of an array of paths share one.
  layer.stack = [check, ...handlers];
}

function checkRoute(context: Watched, layer: KoaLayer): PendingRefusal {
  const method = context.method.toUpperCase();
  const { target, prefix } = readRouted(context);
  const mount = prefix === "" ? "" : literalPattern(prefix);
  // A route that was matched by another method than the request has now is none of this request.
  const patterns = layer.methods.includes(method) ? [mount + patternOf(layer)] : undefined;
  return guardRoute(context.req, { method, target }, patterns);
}

/** The target that the router has found its routes for. */
function readRouted(context: Watched): MountedTarget {
  const { router } = context;
  const routerPath = isRouter(router) ? router.opts.routerPath : undefined;
  return routerPath === undefined ? readTarget(context) : { target: routerPath, prefix: "" };
}

/** Where a route matches more paths than its pattern, no rule can cover it. */
function patternOf({ path, opts }: KoaLayer): string {
  const isWritten = typeof path === "string" && opts?.end !== false && opts?.pathAsRegExp !== true;
  return isWritten ? path : EXPRESSION;
}
