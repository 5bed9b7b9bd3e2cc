/**
 * The mounts that a request has passed. Express calls every layer, in any router or application, through a
 * method of its prototype. `watchLayers` wraps that method to record the layers of a guarded request.
 */
import type { Pipeline } from "../../core/pipeline.ts";
import type { RoutePattern } from "../../core/policy/table.ts";
import type { ComparableRoute } from "../../core/policy/route-comparison.ts";
import { readPath } from "../../core/request.ts";
import { createWarning } from "../../core/runtime/warn-once.ts";
import { notesOf } from "../shared/guard.ts";
import type { ExpressRequest } from "./request.ts";
import { type ExpressLayer, mountsOf } from "./router.ts";

/** A layer with a path that a request has reached, and the prefix that Express removed for it. */
interface PassedLayer {
  readonly layer: ExpressLayer;
  readonly baseUrl: string | undefined;
}

const PASSED = Symbol("mounts");

interface Notes {
  [PASSED]?: PassedLayer[] | undefined;
}

/** The methods that call a handler, in Express 5 and in Express 4, and which argument is the request. */
const CALLS = { handleRequest: 0, handle_request: 0, handleError: 1, handle_error: 1 } as const;

const watched = new WeakSet<object>();

/** From now on, records all layers of the same copy of Express. */
export function watchLayers(layer: object): void {
  const prototype = Object.getPrototypeOf(layer) as object;
  if (watched.has(prototype)) return;
  watched.add(prototype);
  for (const [name, position] of Object.entries(CALLS)) {
    const call: unknown = Reflect.get(prototype, name);
    if (typeof call !== "function") continue;
    // If the method can't be replaced, all mounts stay unknown.
    Reflect.set(prototype, name, function (this: ExpressLayer, ...parameters: readonly unknown[]): unknown {
      recordLayer(this, parameters[position] as ExpressRequest);
      return Reflect.apply(call, this, parameters) as unknown;
    });
  }
}

/** Three kinds of layers mount nothing: layers without a path, routes, and the handlers of a route. */
function recordLayer(layer: ExpressLayer, request: ExpressRequest): void {
  if ((layer.slash ?? layer.regexp?.fast_slash) || layer.route || "method" in layer) return;
  const notes: Notes | undefined = notesOf(request);
  if (notes) (notes[PASSED] ??= []).push({ layer, baseUrl: request.baseUrl });
}

/**
 * Returns the patterns of a route, starting at the root of the application. `routePatterns` are those below
 * the mounts that the request has passed. A mount above the guard, or without a readable pattern, is left as
 * it was requested.
 */
export function withMounts(
  request: ExpressRequest,
  routePatterns: readonly string[],
  pipeline: Pipeline,
): readonly RoutePattern[] {
  let mount = request.baseUrl ?? "";
  let patterns = routePatterns.map((pattern) => (pattern === "/" ? "" : pattern));
  const passed = (notesOf(request) as Notes | undefined)?.[PASSED] ?? [];
  for (const { layer, baseUrl } of passed.toReversed()) {
    // Skip layers that the request has left. If several have this prefix, the last one contains the route.
    if (mount === "" || baseUrl !== mount) continue;
    const read = readMount(layer, mount, pipeline);
    if (!read) break;
    mount = mount.slice(0, read.start);
    patterns = read.sources.flatMap((source) => patterns.map((below) => source + below));
  }
  if (mount === "") return patterns.map((pattern) => pattern || "/");
  warnOfMount();
  return patterns.map((pattern) => ({ mount, pattern: pattern || "/", isAsWritten: false }));
}

/** One alternative of the path of a layer. */
interface Alternative {
  readonly source: string;
  readonly route: ComparableRoute;
}

const alternativesOf = new WeakMap<ExpressLayer, readonly Alternative[]>();

/** Returns the alternatives of the path of a layer; none if they can't be read. */
function readAlternatives(
  layer: ExpressLayer,
  { patterns: { parseRoutePattern, renderPattern, comparableRoute } }: Pipeline,
): readonly Alternative[] {
  const remembered = alternativesOf.get(layer);
  if (remembered) return remembered;
  // An optional group before a route would leave a double slash, so each alternative is rendered.
  const alternatives = (mountsOf(layer) ?? []).flatMap((source) =>
    (parseRoutePattern(source || "/")?.alternatives ?? []).map((alternative) => ({
      source: renderPattern(alternative).replace(/\/$/, ""),
      route: comparableRoute(alternative.segments),
    })),
  );
  alternativesOf.set(layer, alternatives);
  return alternatives;
}

/**
 * Returns how the end of a mount is written, and where it starts. Returns `undefined` if that isn't certain,
 * because a regular expression, a wildcard or alternatives of several lengths may have matched.
 */
function readMount(
  layer: ExpressLayer,
  mount: string,
  pipeline: Pipeline,
): { readonly start: number; readonly sources: readonly string[] } | undefined {
  const matching = readAlternatives(layer, pipeline).flatMap(({ source, route }) => {
    const start = startOfLast(route.segments.length, mount);
    const path = readPath(mount.slice(start) || "/");
    const compared = path && new pipeline.patterns.ComparablePath(path);
    return compared?.compareWith(route) ? [{ source, route, start }] : [];
  });
  const [first] = matching;
  const isCertain = matching.every(({ route, start }) => start === first?.start && route.wildcard < 0);
  if (!first || !isCertain) return undefined;
  return { start: first.start, sources: matching.map(({ source }) => source) };
}

/** Returns where the last `count` segments of a path begin; 0 if it has no more than these. */
function startOfLast(count: number, path: string): number {
  let start = path.length;
  for (let left = count; left > 0 && start > 0; left -= 1) start = path.lastIndexOf("/", start - 1);
  return start;
}

const warnOfMount = createWarning(
  "A route runs below a mount whose pattern isn't known, so a request must satisfy the rule for every pattern that the mount may have. To avoid this, use protect in the outermost application, mount routers at paths without regular expressions and wildcards, and replace Express 5.0 to 5.2 with Express 5.3 or later.",
);
