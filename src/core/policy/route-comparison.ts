/** Compares a path with a route, to find out whether the path belongs to the route. */
import { hasTrailingSlash, type Path, segmentsOf } from "../request.ts";
import { partsOf, type Pattern, type PatternSegment } from "./pattern.ts";
import { isPattern, parsePattern } from "./parse-pattern.ts";
import { modernize } from "./pattern-dialects.ts";
import { renderPattern } from "./render-pattern.ts";
import { compareParts, Spelled, type SpelledParts, spellParts } from "./segment.ts";

/** `exact` if every router matches the path to the route, `loose` if only some do. */
export type RouteComparison = "exact" | "loose" | undefined;

/** A route without optional groups, prepared for comparisons with many paths. */
export interface ComparableRoute {
  readonly segments: readonly PatternSegment[];
  /** The static parts of each segment; `undefined` for a segment that is a parameter or the wildcard. */
  readonly texts: readonly (SpelledParts | undefined)[];
  /** The index of the wildcard; -1 without one. */
  readonly wildcard: number;
}

export const comparableRoute = (segments: readonly PatternSegment[]): ComparableRoute => ({
  segments,
  texts: segments.map((segment) =>
    segment.kind === "static" || segment.kind === "mixed" ? spellParts(partsOf(segment)) : undefined,
  ),
  wildcard: segments.findIndex(({ kind }) => kind === "wildcard"),
});

/** A path, prepared for comparisons with many routes: its segments are read only once. */
export class ComparablePath {
  readonly path: Path;
  readonly #segments: readonly string[];
  readonly #spelled: Spelled[] = [];
  /** The path with an empty last segment, as Fastify reads it after a trailing slash. */
  readonly #withEmptySegment: ComparablePath | undefined;

  constructor(path: Path) {
    this.path = path;
    this.#segments = segmentsOf(path);
    if (path.text.endsWith("/") && path.end < path.text.length)
      this.#withEmptySegment = new ComparablePath({ ...path, end: path.text.length });
  }

  /** Returns whether the path belongs to a route. */
  compareWith(route: ComparableRoute): RouteComparison {
    const comparison = this.#compareSegments(route, 0);
    if (comparison === "exact" && hasTrailingSlash(this.path)) return "loose";
    return comparison ?? (this.#withEmptySegment?.compareWith(route) && "loose");
  }

  /**
   * Returns the path as it's read by a router that matches it to the route, without its first `skipped`
   * segments; `undefined` if no router does. After a trailing slash, Fastify matches an empty parameter or
   * wildcard.
   */
  readFor(route: ComparableRoute, skipped = 0): Path | undefined {
    if (this.#compareSegments(route, skipped)) return this.path;
    return this.#withEmptySegment?.readFor(route, skipped);
  }

  /** Returns a mount as segments of a route; `undefined` if the path doesn't begin with them. */
  segmentsOfMount(mount: string): readonly PatternSegment[] | undefined {
    const texts = mount === "" ? [] : mount.slice(1).split("/");
    if (texts.some((text, index) => text !== this.#segments[index])) return undefined;
    return texts.map((text) => ({ kind: "static", text }));
  }

  #compareSegments({ texts, wildcard }: ComparableRoute, skipped: number): RouteComparison {
    const total = this.#segments.length;
    const surplus = total - skipped - texts.length;
    if (surplus < 0 || (surplus > 0 && wildcard < 0)) return undefined;
    let comparison: RouteComparison = "exact";
    for (let index = 0; index < texts.length; index += 1) {
      const parts = texts[index];
      if (!parts) continue;
      // The wildcard takes all remaining segments.
      const isAfterWildcard = wildcard >= 0 && index > wildcard;
      const spelled = this.#spellSegment(skipped + index + (isAfterWildcard ? surplus : 0));
      const spelling = compareParts(spelled, parts);
      if (!spelling) return undefined;
      if (spelling !== "exact") comparison = "loose";
    }
    return comparison;
  }

  #spellSegment(index: number): Spelled {
    return (this.#spelled[index] ??= new Spelled(String(this.#segments[index])));
  }
}

/** Parses a route's pattern, in the syntax of any version of path-to-regexp; `undefined` if that fails. */
export function parseRoutePattern(source: string): Pattern | undefined {
  const current = parsePattern(source, true);
  const pattern = isPattern(current) ? current : parsePattern(modernize(source), true);
  return isPattern(pattern) ? pattern : undefined;
}

/** Returns a pattern with its optional groups written out, or unchanged if it can't be parsed. */
export function writeOut(pattern: string): readonly string[] {
  const parsed = parseRoutePattern(pattern);
  return parsed ? parsed.alternatives.map(renderPattern) : [pattern];
}
