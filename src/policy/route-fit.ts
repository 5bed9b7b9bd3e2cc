/** Whether a path is one of a route's. */
import { hasTrailingSlash, type Path, segmentsOf } from "../request.ts";
import { type Pattern, type PatternSegment } from "./pattern.ts";
import { isPattern, parsePattern } from "./parse-pattern.ts";
import { modernize } from "./pattern-dialects.ts";
import { loosen, spellingOfMixed } from "./segment.ts";

/** `exact` where every router takes the path for one of the route, `loose` where some router does. */
export type Fit = "exact" | "loose" | undefined;

export function fitOf(route: readonly PatternSegment[], path: Path): Fit {
  const reading = readAt(route, path);
  const isExact = reading === path && !hasTrailingSlash(path) && fitOfReading(route, path) === "exact";
  return reading && (isExact ? "exact" : "loose");
}

/**
 * The path as a router reads it that takes it for one of the route; `undefined` where none does. Behind a
 * trailing slash Fastify takes an empty parameter or wildcard.
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
  switch (segment.kind) {
    case "static":
      if (segment.text === text) return "exact";
      return loosen(segment.text) === loosen(text) ? "loose" : undefined;
    case "mixed": {
      const spelling = spellingOfMixed(text, segment.parts);
      return spelling && (spelling === "exact" ? "exact" : "loose");
    }
    case "parameter":
    case "wildcard":
      return "exact";
  }
}

/** A route's pattern in today's syntax, or that of path-to-regexp before version 8; else `undefined`. */
export function parseRoutePattern(source: string): Pattern | undefined {
  const current = parsePattern(source);
  const pattern = isPattern(current) ? current : parsePattern(modernize(source));
  return isPattern(pattern) ? pattern : undefined;
}
