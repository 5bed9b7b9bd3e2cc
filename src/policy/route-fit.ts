/** Whether a path belongs to a route. */
import { hasTrailingSlash, type Path, segmentsOf } from "../request.ts";
import { partsOf, type Pattern, type PatternSegment } from "./pattern.ts";
import { isPattern, parsePattern } from "./parse-pattern.ts";
import { modernize } from "./pattern-dialects.ts";
import { spellingOfMixed } from "./segment.ts";

/** `exact` if every router matches the path to the route, `loose` if only some routers do. */
export type Fit = "exact" | "loose" | undefined;

export function fitOf(route: readonly PatternSegment[], path: Path): Fit {
  const reading = readAt(route, path);
  const isExact = reading === path && !hasTrailingSlash(path) && fitOfReading(route, path) === "exact";
  return reading && (isExact ? "exact" : "loose");
}

/**
 * Returns the path as read by a router that matches it to the route; `undefined` if no router does. After a
 * trailing slash, Fastify matches an empty parameter or wildcard.
 */
export function readAt(route: readonly PatternSegment[], path: Path): Path | undefined {
  if (fitOfReading(route, path)) return path;
  const withEmptySegment = { ...path, end: path.text.length };
  return path.text.endsWith("/") && fitOfReading(route, withEmptySegment) ? withEmptySegment : undefined;
}

function fitOfReading(route: readonly PatternSegment[], path: Path): Fit {
  const segments = segmentsOf(path);
  const wildcard = route.findIndex(({ kind }) => kind === "wildcard");
  if (wildcard < 0 ? segments.length !== route.length : segments.length < route.length) return undefined;
  let fit: Fit = "exact";
  for (const [index, segment] of route.entries()) {
    const isBehind = wildcard >= 0 && index > wildcard;
    const text = segments.at(isBehind ? index - route.length : index) ?? "";
    const own = fitOfSegment(segment, text);
    if (!own) return undefined;
    if (own === "loose") fit = "loose";
  }
  return fit;
}

function fitOfSegment(segment: PatternSegment, text: string): Fit {
  if (segment.kind === "parameter" || segment.kind === "wildcard") return "exact";
  const spelling = spellingOfMixed(text, partsOf(segment));
  return spelling && (spelling === "exact" ? "exact" : "loose");
}

/** Parses a route's pattern, in the syntax of any version of path-to-regexp; `undefined` if that fails. */
export function parseRoutePattern(source: string): Pattern | undefined {
  const current = parsePattern(source);
  const pattern = isPattern(current) ? current : parsePattern(modernize(source));
  return isPattern(pattern) ? pattern : undefined;
}
