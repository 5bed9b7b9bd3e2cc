/** Whether a path belongs to a route. */
import { hasTrailingSlash, type Path, segmentsOf } from "../request.ts";
import { partsOf, type Pattern, type PatternSegment } from "./pattern.ts";
import { isPattern, parsePattern } from "./parse-pattern.ts";
import { modernize } from "./pattern-dialects.ts";
import { renderPattern } from "./render-pattern.ts";
import { compareParts, Spelled, type SpelledParts, spellParts } from "./segment.ts";

/** `exact` if every router matches the path to the route, `loose` if only some routers do. */
export type Fit = "exact" | "loose" | undefined;

/** A route without optional groups, prepared for comparisons with many paths. */
export interface ComparableRoute {
  readonly segments: readonly PatternSegment[];
  /** The strings of each segment; `undefined` for a segment that is a parameter or the wildcard. */
  readonly texts: readonly (SpelledParts | undefined)[];
  /** The index of the wildcard; -1 without one. */
  readonly wildcard: number;
}

export const comparable = (segments: readonly PatternSegment[]): ComparableRoute => ({
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
  #mount: { readonly text: string; readonly segments: readonly PatternSegment[] | undefined } | undefined;
  /** The path with an empty last segment, which Fastify sees after a trailing slash. */
  readonly #withEmptySegment: ComparablePath | undefined;

  constructor(path: Path) {
    this.path = path;
    this.#segments = segmentsOf(path);
    if (path.text.endsWith("/") && path.end < path.text.length)
      this.#withEmptySegment = new ComparablePath({ ...path, end: path.text.length });
  }

  /** Returns whether the path, without its first `skipped` segments, belongs to a route. */
  fitOf(route: ComparableRoute, skipped = 0): Fit {
    const own = this.#compare(route, skipped);
    if (own) return own === "exact" && hasTrailingSlash(this.path) ? "loose" : own;
    return this.#withEmptySegment?.fitOf(route, skipped) && "loose";
  }

  /**
   * Returns the path as read by a router that matches it to the route; `undefined` if no router does. After a
   * trailing slash, Fastify matches an empty parameter or wildcard.
   */
  readAt(route: ComparableRoute, skipped = 0): Path | undefined {
    if (this.#compare(route, skipped)) return this.path;
    const other = this.#withEmptySegment;
    return other && other.#compare(route, skipped) ? other.path : undefined;
  }

  /**
   * Returns the first segments of the path as a part of a route, if these are the given text; `undefined` if
   * they are not. Computed once for all routes below one mount.
   */
  segmentsBelow(mount: string): readonly PatternSegment[] | undefined {
    if (mount !== this.#mount?.text) {
      const texts = mount === "" ? [] : mount.slice(1).split("/");
      const isFirst = texts.every((text, index) => text === this.#segments[index]);
      this.#mount = {
        text: mount,
        segments: isFirst ? texts.map((text) => ({ kind: "static", text })) : undefined,
      };
    }
    return this.#mount.segments;
  }

  #compare({ texts, wildcard }: ComparableRoute, skipped: number): Fit {
    const all = this.#segments.length;
    const count = all - skipped;
    if (wildcard < 0 ? count !== texts.length : count < texts.length) return undefined;
    let fit: Fit = "exact";
    for (let index = 0; index < texts.length; index += 1) {
      const parts = texts[index];
      if (!parts) continue;
      const isBehind = wildcard >= 0 && index > wildcard;
      const spelling = compareParts(
        this.#spell(isBehind ? all + index - texts.length : skipped + index),
        parts,
      );
      if (!spelling) return undefined;
      if (spelling !== "exact") fit = "loose";
    }
    return fit;
  }

  #spell(index: number): Spelled {
    return (this.#spelled[index] ??= new Spelled(String(this.#segments[index])));
  }
}

/** Like `ComparablePath`, for one route and one path. */
export const fitOf = (route: readonly PatternSegment[], path: Path): Fit =>
  new ComparablePath(path).fitOf(comparable(route));

export const readAt = (route: readonly PatternSegment[], path: Path): Path | undefined =>
  new ComparablePath(path).readAt(comparable(route));

/** Parses a route's pattern, in the syntax of any version of path-to-regexp; `undefined` if that fails. */
export function parseRoutePattern(source: string): Pattern | undefined {
  const current = parsePattern(source);
  const pattern = isPattern(current) ? current : parsePattern(modernize(source));
  return isPattern(pattern) ? pattern : undefined;
}

/** Returns a pattern with its optional groups written out, or unchanged if it cannot be parsed. */
export function writeOut(pattern: string): readonly string[] {
  const parsed = parseRoutePattern(pattern);
  return parsed ? parsed.alternatives.map(renderPattern) : [pattern];
}
