/**
 * The check at each matched route. Express assigns `request.route` before the handlers of a route run. An
 * accessor on the prototype of all requests notices this, and puts the check before each handler, once.
 */
import { watchProperty } from "../../core/runtime/watch-property.ts";
import { checkFirst } from "../shared/check-first.ts";
import type { Pipeline, RunningRoute } from "../../core/pipeline.ts";
import { ownProperty } from "../../core/request.ts";
import { guardRoute, notesOf } from "../shared/guard.ts";
import { send } from "../shared/node-response.ts";
import { type ExpressMiddleware, type ExpressRequest, readMethod, readTarget } from "./request.ts";
import { watchLayers } from "./mounts.ts";
import { patternsAt } from "./route-patterns.ts";
import { type ExpressHandler, type ExpressRoute, isApplication, isRoute, visit } from "./router.ts";

const watched = new WeakSet<object>();

/** Checks every route that a request reaches from now on, for each guard that the request has passed. */
export function watchRoutes(request: object & { readonly app?: object }): void {
  const prototype = Object.getPrototypeOf(request) as object;
  if (watched.has(prototype) && !Object.hasOwn(request, "route")) return;
  // The guard may itself be a handler of a route, which Express assigned before the property was watched.
  const assigned: unknown = Reflect.get(request, "route");
  const holder = findHolder(request);
  if (!watched.has(holder)) watch(holder);
  watchApplications(request);
  // Requests of a plain Node server have no prototype of their own, so each of them gets the accessor.
  if (holder !== request) {
    watched.add(prototype);
    Reflect.deleteProperty(request, "route");
  }
  if (assigned !== undefined) Reflect.set(request, "route", assigned);
}

/** Another copy of Express has other layers, and gives a request another prototype. */
function watchApplications({ app }: { readonly app?: object }): void {
  for (const { layer } of app ? visit(app) : []) {
    watchLayers(layer);
    const { handle } = layer;
    const { request } = Object(handle) as { readonly request?: object };
    const holder = isApplication(handle) && request && findHolder(Object.create(request) as object);
    if (holder && !watched.has(holder)) watch(holder);
  }
}

/** Finds the topmost prototype of Express's requests: applications inside routers need the accessor too. */
function findHolder(request: object): object {
  const next = Object.getPrototypeOf(request) as object | null;
  // The prototypes of Node and of all objects must stay as they are: the whole process shares them.
  const isOfNode = next && ["_read", "rawTrailers"].some((name) => Object.hasOwn(next, name));
  return !next || isOfNode || next === Object.prototype ? request : findHolder(next);
}

function watch(holder: { readonly route?: unknown }): void {
  watched.add(holder);
  const putChecks = (_: object, route: unknown): void => {
    if (!isRoute(route)) return;
    for (const layer of route.stack) {
      watchLayers(layer);
      putCheck(layer, route);
    }
  };
  watchProperty(holder, "route", putChecks, notesOf);
}

/** Stored by layer, not by handler, because other packages may wrap the value of `layer.handle`. */
const checkedLayers = new WeakSet<ExpressHandler>();

function putCheck(layer: ExpressHandler, route: ExpressRoute): void {
  const { handle } = layer;
  // Error handlers have four parameters; they run only for errors.
  if (checkedLayers.has(layer) || typeof handle !== "function" || handle.length > 3) return;
  layer.handle = behindCheck(handle as Handler, layer, route);
  if (layer.handle === handle)
    throw new TypeError("protect can't check a route: its handler can't be replaced.");
  checkedLayers.add(layer);
}

type Handler = (...parameters: Parameters<ExpressMiddleware>) => unknown;

/** Returns what the handler returns: Express 5 waits for its promise. */
function behindCheck(handle: Handler, layer: ExpressHandler, route: ExpressRoute): Handler {
  const checked: Handler = (request, response, next) =>
    checkFirst(() => guardRoute(request, (pipeline) => runningRoute(request, layer, route, pipeline)), {
      refuse: (refusal) => send(response, refusal),
      next: (error) => (error ? next(error) : handle(request, response, next)),
    });
  // The properties by which other packages recognize the handler.
  return Object.defineProperties(checked, Object.getOwnPropertyDescriptors(handle));
}

/** Returns the route that Express has assigned to a request, for a handler that is about to run. */
function runningRoute(
  request: ExpressRequest & { readonly params?: Readonly<Record<string, unknown>> },
  layer: ExpressHandler,
  route: ExpressRoute,
  pipeline: Pipeline,
): RunningRoute {
  const method = readMethod(request);
  // Each handler may change the parameters for the handlers after it.
  const isFirst = () => layer === findFirst(route, method);
  return {
    method,
    target: readTarget(request),
    patterns: patternsAt(request, route, pipeline),
    readValue: (name) => (isFirst() ? ownProperty(request.params ?? {}, name) : undefined),
  };
}

/** Finds the handler that Express calls first. For HEAD, it calls those of GET if the route has none. */
function findFirst({ methods, stack }: ExpressRoute, method: string): ExpressHandler | undefined {
  const name = method === "HEAD" && !methods["head"] ? "get" : method.toLowerCase();
  return stack.find((layer) => (layer.method ?? name) === name && checkedLayers.has(layer));
}
