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

/**
 * Finds a parameter of a rule: its segment, where that is, and its text in the path, encoded and decoded. The
 * value is empty if the path spells the text behind the parameter differently.
 */
export function findParameter({ path, segments }: ParameterSource, name: string) {
  const index = segments.findIndex((segment) => namesOf(segment).includes(name));
  const segment = segments[index];
  if (!segment) return undefined;
  const text = segmentAt(path, index);
  const ending = textBehind(segment);
  const value = text.endsWith(ending) ? decodeSegment(text.slice(0, text.length - ending.length)) : "";
  return { segment, index, text, value };
}

/** Returns the value of a parameter; empty if the pattern has none of this name. */
export const readParameter = (source: ParameterSource, name: string): string =>
  findParameter(source, name)?.value ?? "";
