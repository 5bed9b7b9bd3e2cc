/** Where in a path the parameters of a pattern are. */
import { type Path, segmentAt, segmentsOf } from "../request.ts";
import { namesOf, type PatternSegment, textBehind } from "./pattern.ts";
import { decodeSegment } from "./segment.ts";

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

/** Finds a parameter of a rule: its segment, where that is, and the encoded segment of the path. */
export function findParameter(
  { path, segments }: ParameterSource,
  name: string,
): { readonly segment: PatternSegment; readonly index: number; readonly text: string } | undefined {
  const index = segments.findIndex((segment) => namesOf(segment).includes(name));
  const segment = segments[index];
  return segment && { segment, index, text: segmentAt(path, index) };
}

/** Returns the value of a parameter; empty if the path spells the text behind it differently. */
export function readParameter(source: ParameterSource, name: string): string {
  const { segment, text = "" } = findParameter(source, name) ?? {};
  const ending = segment ? textBehind(segment) : "";
  return text.endsWith(ending) ? decodeSegment(text.slice(0, text.length - ending.length)) : "";
}
