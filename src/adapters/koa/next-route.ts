/** Reads the route of @koa/router that is next. */
import { EXPRESSION, literalPattern } from "../../policy/plain-pattern.ts";
import { BoundedMap } from "../../runtime/bounded-map.ts";
import { readPath, segmentsOf } from "../../request.ts";
import { type PickedRoute, type RoutedRequest } from "../guard.ts";
import { isRouter, type KoaContext, readTarget } from "./context.ts";
import { writeOutAll, type WrittenPatterns } from "../written-patterns.ts";

/** The route that is next. One that was matched by another method or path than the request has now is no more of it. */
export function readRoute(context: KoaContext, routerPath: RouterPath): PickedRoute {
  const request = readRequest(context);
  const path = readPath(request.target);
  if (!path) return { ...request, patterns: [] };
  const segments = segmentsOf(path);
  const patterns = patternsOf(routerPath, mountOf(context, path.text))
    .each.filter(({ matches }) => matches(segments))
    .map(({ source }) => source);
  const isRoute = isMatched(context, routerPath, request) && patterns.length > 0;
  return { ...request, patterns: isRoute ? patterns : "others" };
}

export const readRequest = (context: KoaContext): RoutedRequest => ({
  method: context.method.toUpperCase(),
  target: readRouted(context),
});

/** The target that a router finds its routes for. */
export const readRouted = (context: KoaContext): string =>
  (isRouter(context.router) ? context.router.opts.routerPath : undefined) ?? readTarget(context);

/** Whether a route was matched for the method that the request has now. */
export const isMatched = (
  { matched = [] }: KoaContext,
  routerPath: RouterPath,
  { method }: RoutedRequest,
): boolean => matched.some((layer) => layer.path === routerPath && layer.methods.includes(method));

/** Whether a route takes more paths than its own is a pattern of. */
export const isWiderThanWritten = ({ matched = [] }: KoaContext, routerPath: RouterPath): boolean =>
  matched.some(
    ({ path, opts }) => path === routerPath && (opts?.end === false || opts?.pathAsRegExp === true),
  );

type RouterPath = KoaContext["routerPath"];

/** As many as an application has routes; a router that makes them up must not fill the memory. */
const MAX_PATTERNS = 10_000;

const writtenOut = new BoundedMap<string, WrittenPatterns>(MAX_PATTERNS);

/** The patterns of the route that runs, behind a mount. */
export function patternsOf(routerPath: RouterPath, mount: string): WrittenPatterns {
  const pattern = `${mount}${typeof routerPath === "string" ? routerPath : EXPRESSION}`;
  const known = writtenOut.get(pattern);
  if (known) return known;
  const written = writeOutAll([pattern]);
  writtenOut.set(pattern, written);
  return written;
}

/** The text of the mounts that koa-mount has stripped, as a pattern. */
function mountOf({ mountPath, path }: KoaContext, whole: string): string {
  if (mountPath === undefined) return "";
  return literalPattern(whole.endsWith(path) ? whole.slice(0, whole.length - path.length) : whole);
}
