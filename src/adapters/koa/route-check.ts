/**
 * The check at each matched route. @koa/router assigns `context.router` before it collects the handlers of
 * all matching routes. An accessor on the contexts' prototype notices this, and puts a check before them.
 */
import { watchProperty } from "../../core/runtime/watch-property.ts";
import type { RunningRoute } from "../../core/pipeline.ts";
import { ownProperty } from "../../core/request.ts";
import { guardRoute } from "../shared/guard.ts";
import { EXPRESSION } from "../../core/policy/pattern-text.ts";
import { type KoaContext, type KoaLayer, type KoaRouter, proceed, readTarget } from "./context.ts";

const watched = new WeakSet<object>();

/** Checks every route that a request reaches from now on, for each guard that the request has passed. */
export function watchRouters(context: KoaContext): void {
  const prototype = Object.getPrototypeOf(context) as KoaContext;
  const holder = context.app?.context === prototype ? prototype : context;
  const isWatched = watched.has(holder);
  // An earlier router may have assigned its properties before they were watched.
  if (isWatched && (holder === context || !Object.hasOwn(context, "matched"))) return;
  watched.add(holder);
  // koa-router before 7.2 assigns `matched` only.
  for (const name of ["matched", "router"] as const) {
    const assigned: unknown = Object.hasOwn(context, name) ? context[name] : undefined;
    Reflect.deleteProperty(context, name);
    if (!isWatched) watchProperty(holder, name, checkMatched);
    Reflect.set(context, name, assigned);
  }
}

function checkMatched({ matched = [] }: KoaContext): void {
  // @koa/router 13.0.0 adds the layers of a second router as an array.
  for (const entry of matched) {
    if (Array.isArray(entry)) (entry as readonly KoaLayer[]).forEach(putCheck);
    else putCheck(entry as KoaLayer);
  }
}

const checks = new WeakSet<object>();
const checkedLayers = new WeakSet<KoaLayer>();

/** A nested router copies its routes, and the copies contain the checks of the original routes. */
function putCheck(layer: KoaLayer): void {
  if (checkedLayers.has(layer) || layer.methods.length === 0) return;
  checkedLayers.add(layer);
  const handlers = layer.stack.filter((handle) => !checks.has(handle as object));
  // The functions of `router.param` come first. They may change the parameters for the handlers.
  const first = handlers.findIndex((handle) => !Object.hasOwn(handle as object, "param"));
  const checksBefore = first > 0 ? [createCheck(layer, false), ...handlers.slice(0, first)] : [];
  // A new array, because the routes of one array of paths share theirs.
  layer.stack = [...checksBefore, createCheck(layer, true), ...handlers.slice(Math.max(first, 0))];
}

/** With `isLast`, the handlers follow directly. */
function createCheck(layer: KoaLayer, isLast: boolean) {
  const check = (context: KoaContext, next: () => Promise<unknown>) =>
    proceed(
      context,
      guardRoute(context.req, () => runningRoute(context, layer, isLast)),
      next,
    );
  checks.add(check);
  return check;
}

function runningRoute(context: KoaContext, layer: KoaLayer, isLast: boolean): RunningRoute {
  const method = context.method.toUpperCase();
  const router = context.router as KoaRouter | undefined;
  if (!router)
    throw new TypeError(
      "protect can't check the routes of this router: install @koa/router, or koa-router 7.2 or later.",
    );
  const { routerPath } = router.opts;
  // The target that the router has found its routes for.
  const { target, prefix } =
    routerPath === undefined ? readTarget(context) : { target: routerPath, prefix: "" };
  // If the method has changed since the route was matched, the route doesn't match the request.
  const written = patternOf(layer);
  const pattern = prefix === "" ? written : { mount: prefix, pattern: written, isAsWritten: true };
  const patterns = layer.methods.includes(method) ? [pattern] : undefined;
  return {
    method,
    target,
    patterns,
    readValue: (name) => (isLast ? ownProperty(context.params ?? {}, name) : undefined),
    // The layers before this one leave their parameters to the handler.
    isPlusSpace: () => context.matched?.flat().some(readsPlusAsSpace) ?? false,
  };
}

/** No rule can cover a route that matches more paths than its pattern. */
function patternOf({ path, opts }: KoaLayer): string {
  const isWritten = typeof path === "string" && opts?.end !== false && opts?.pathAsRegExp !== true;
  return isWritten ? path : EXPRESSION;
}

/** Versions 13 and 14 decode parameters as in forms. */
function readsPlusAsSpace(layer: KoaLayer): boolean {
  const { params } = layer as { readonly params?: (...values: readonly unknown[]) => { plus?: unknown } };
  const decoding: unknown = Object.create(layer, { paramNames: { value: [{ name: "plus" }] } });
  return params?.call(decoding, "", ["+"], {}).plus === " ";
}
