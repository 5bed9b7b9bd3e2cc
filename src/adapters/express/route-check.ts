/**
 * The check at the route that runs. Its only sign: Express assigns `request.route` before its handlers. An
 * accessor on the prototype of all requests notices it and puts the check before each handler, once.
 */
import { settle } from "../../runtime/pending.ts";
import { watchProperty } from "../../runtime/watch-property.ts";
import { guardRoute, notesOf, type RunningRoute } from "../guard.ts";
import { send } from "../node-response.ts";
import { type ExpressMiddleware, type ExpressRequest, readMethod, readTarget } from "./request.ts";
import { patternsAt } from "./route-patterns.ts";
import { type ExpressHandler, type ExpressRoute, isApplication, isRoute, visit } from "./router.ts";

const watched = new WeakSet<object>();

/** Checks every route that a request reaches from now on, for each guard that the request has passed. */
export function watchRoutes(request: object & { readonly app?: object }): void {
  const prototype = Object.getPrototypeOf(request) as object;
  if (watched.has(prototype) && !Object.hasOwn(request, "route")) return;
  // The guard may be a handler of a route, which Express assigned before the property was watched.
  const assigned: unknown = Reflect.get(request, "route");
  const holder = findHolder(request);
  if (!watched.has(holder)) watch(holder);
  watchApplications(request);
  // Requests of a plain Node server have no prototype of their own, and get the accessor one by one.
  if (holder !== request) {
    watched.add(prototype);
    Reflect.deleteProperty(request, "route");
  }
  if (assigned !== undefined) Reflect.set(request, "route", assigned);
}

/** An application of another copy of Express gives a request another prototype. */
function watchApplications({ app }: { readonly app?: object }): void {
  for (const { handle } of app ? visit(app) : []) {
    const { request } = Object(handle) as { readonly request?: object };
    const holder = isApplication(handle) && request && findHolder(Object.create(request) as object);
    if (holder && !watched.has(holder)) watch(holder);
  }
}

/** The topmost prototype that Express gives requests: applications inside routers need the accessor too. */
function findHolder(request: object): object {
  const next = Object.getPrototypeOf(request) as object | null;
  // Node's prototypes must stay as they are: all servers of the process share them.
  if (!next || Object.hasOwn(next, "_read") || Object.hasOwn(next, "rawTrailers")) return request;
  return findHolder(next);
}

function watch(holder: { readonly route?: unknown }): void {
  watched.add(holder);
  const putChecks = (_: object, route: unknown): void => {
    if (isRoute(route)) for (const layer of route.stack) putCheck(layer, route);
  };
  watchProperty(holder, "route", putChecks, notesOf);
}

/** By the layer and not by the handler: other packages may wrap what is assigned to `layer.handle`. */
const checkedLayers = new WeakSet<ExpressHandler>();

function putCheck(layer: ExpressHandler, route: ExpressRoute): void {
  const { handle } = layer;
  // Error handlers have four parameters; they run for faults only.
  if (checkedLayers.has(layer) || typeof handle !== "function" || handle.length > 3) return;
  layer.handle = behindCheck(handle as Handler, route);
  if (layer.handle === handle)
    throw new TypeError("protect cannot check a route: its handler cannot be replaced.");
  checkedLayers.add(layer);
}

type Handler = (...given: Parameters<ExpressMiddleware>) => unknown;

/** Returns what the handler returns: Express 5 waits for its promise. */
function behindCheck(handle: Handler, route: ExpressRoute): Handler {
  const checked: Handler = (request, response, next) =>
    settle(
      () => guardRoute(request, () => runningRoute(request, route)),
      (refusal) => send(response, refusal),
      (fault) => (fault ? next(fault) : handle(request, response, next)),
    );
  // The properties by which other packages recognize the handler.
  return Object.defineProperties(checked, Object.getOwnPropertyDescriptors(handle));
}

const runningRoute = (request: ExpressRequest, route: ExpressRoute): RunningRoute => ({
  method: readMethod(request),
  target: readTarget(request),
  patterns: patternsAt(request, route),
});
