/** How routers read paths and choose routes. `routers.test.ts` compares these models with the real routers. */
import { alternativesOf } from "./specification.ts";

/** How a router reads a path before it compares it with a route. */
export interface Reading {
  readonly ignoresCase: boolean;
  readonly ignoresSlash: boolean;
  readonly decodes: boolean;
  /** Whether an empty segment after the last slash is a value of a parameter or a wildcard. */
  readonly matchesEmpty: boolean;
  /** Whether several slashes count as one. The library refuses such a path, whatever its router does. */
  readonly mergesSlashes: boolean;
}

export const STRICTEST: Reading = {
  ignoresCase: false,
  ignoresSlash: false,
  decodes: false,
  matchesEmpty: false,
  mergesSlashes: false,
};

const BOTH = [false, true];

/** Every combination. */
export const READINGS: readonly Reading[] = BOTH.flatMap((ignoresCase) =>
  BOTH.flatMap((ignoresSlash) =>
    BOTH.flatMap((decodes) =>
      BOTH.map((matchesEmpty) => ({ ...STRICTEST, ignoresCase, ignoresSlash, decodes, matchesEmpty })),
    ),
  ),
);

/** Returns whether a router that reads paths in this way matches a path to a route. */
export function isRouteFor(pattern: string, path: string, reading: Reading): boolean {
  const text = reading.mergesSlashes ? path.replace(/\/+/g, "/") : path;
  return alternativesOf(pattern).some(({ segments, hasSlash }) => {
    const route = hasSlash ? [...segments, ""] : segments;
    const parts = text === "/" ? [] : text.slice(1).split("/");
    if (isMatch(route, parts, reading)) return true;
    if (!reading.ignoresSlash) return false;
    return isMatch(segments, parts.at(-1) === "" ? parts.slice(0, -1) : parts, reading);
  });
}

/** Compares the segments of a route with those of a path; after a slash at the end, the last one is empty. */
function isMatch(route: readonly string[], path: readonly string[], reading: Reading): boolean {
  const [segment, ...routeRest] = route;
  const [part, ...pathRest] = path;
  if (segment === undefined || part === undefined) return segment === part;
  const isEmptyAllowed = reading.matchesEmpty && pathRest.length === 0;
  if (segment.startsWith("*")) {
    if (part === "" && !isEmptyAllowed) return false;
    // A wildcard at the end takes everything that is left, with empty segments and slashes.
    if (routeRest.length === 0) return true;
    return isMatch(routeRest, pathRest, reading) || isMatch(route, pathRest, reading);
  }
  if (/^:\w+$/.test(segment)) {
    if (part === "" && !isEmptyAllowed) return false;
  } else if (!isLike(segment, part, reading)) return false;
  return isMatch(routeRest, pathRest, reading);
}

/** Compares text, which may have parameters in it. */
function isLike(segment: string, part: string, { ignoresCase, decodes }: Reading): boolean {
  const texts = segment
    .split(/:\w+/)
    .map((text) => (decodes ? decodeURIComponent(text) : text).replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const expression = new RegExp(`^${texts.join(".+")}$`, ignoresCase ? "i" : "");
  return expression.test(decodes ? decodeURIComponent(part) : part);
}
