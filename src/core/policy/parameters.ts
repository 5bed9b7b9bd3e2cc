/** Where in a path the parameters of a pattern are. */
import { hasTrailingSlash, type Path, segmentAt, segmentsOf } from "../request.ts";
import { namesOf, type PatternSegment } from "./pattern.ts";
import { decodeSegment, type SegmentPart, spellingOfMixed } from "./segment.ts";

/** What parameters are read from: the path of a request, and a pattern that matches it. */
export interface ParameterSource {
  readonly path: Path;
  readonly segments: readonly PatternSegment[];
}

/** Returns the segment of the pattern for each segment of the path. The wildcard takes the remaining ones. */
export function alignSegments({ path, segments }: ParameterSource): readonly PatternSegment[] {
  if (segments.every(({ kind }) => kind !== "wildcard")) return segments;
  const length = segmentsOf(path).length - segments.length + 1;
  return segments.flatMap((segment): PatternSegment | readonly PatternSegment[] =>
    segment.kind === "wildcard" ? Array.from({ length }, () => segment) : segment,
  );
}

/** Finds a parameter of a rule, in which each name is unique: where it begins, and its encoded text. */
export function findParameter(
  source: ParameterSource,
  name: string,
): { readonly segment: PatternSegment; readonly index: number; readonly text: string } | undefined {
  const { path } = source;
  const segments = alignSegments(source);
  const index = segments.findIndex((segment) => namesOf(segment).includes(name));
  const segment = segments[index];
  if (segment?.kind !== "wildcard") return segment && { segment, index, text: segmentAt(path, index) };
  const text = segmentsOf(path)
    .slice(index, segments.lastIndexOf(segment) + 1)
    .join("/");
  return { segment, index, text };
}

/** Returns the value of a parameter; empty if routers may read another value. */
export function readParameter(source: ParameterSource, name: string): string {
  const { segment, text = "" } = findParameter(source, name) ?? {};
  // Only some routers include a slash at the end of the path in a wildcard.
  if (segment?.kind === "wildcard" && hasTrailingSlash(source.path)) return "";
  return decodeSegment(segment?.kind === "mixed" ? readMixed(text, segment.parts) : text);
}

/** Routers divide a segment with several parameters differently, and may match other static parts loosely. */
function readMixed(text: string, parts: readonly SegmentPart[]): string {
  const lengths = parts.map((part) => (typeof part === "string" ? part.length : 0));
  const position = lengths.indexOf(0);
  const isCertain = lengths.lastIndexOf(0) === position && spellingOfMixed(text, parts) === "exact";
  return isCertain ? text.slice(lengths[position - 1] ?? 0, text.length - (lengths[position + 1] ?? 0)) : "";
}
