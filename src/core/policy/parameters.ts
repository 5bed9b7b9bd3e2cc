/** Where in a path the parameters of a pattern are. */
import { hasTrailingSlash, type Path, segmentAt, segmentsOf } from "../request.ts";
import { partsOf, type PatternSegment } from "./pattern.ts";
import type { ParameterReader } from "./rule.ts";
import { decodeSegment, type SegmentPart, spellingOfMixed } from "./segment.ts";

/** Returns a reader for each parameter. Segments after a wildcard are counted from the end of the path. */
export function parameterReaders(segments: readonly PatternSegment[]): ReadonlyMap<string, ParameterReader> {
  const readers = new Map<string, ParameterReader>();
  const wildcard = segments.findIndex(({ kind }) => kind === "wildcard");
  for (const [index, segment] of segments.entries()) {
    const isAfterWildcard = wildcard >= 0 && index > wildcard;
    const readSegment: ParameterReader = isAfterWildcard
      ? (path) => segmentsOf(path).at(index - segments.length) ?? ""
      : (path) => segmentAt(path, index);
    if (segment.kind === "parameter") readers.set(segment.name, (path) => decodeSegment(readSegment(path)));
    if (segment.kind === "mixed") addMixedReader(readers, segment.parts, readSegment);
    if (segment.kind === "wildcard")
      readers.set(segment.name, wildcardReader(index, segments.length - index - 1));
  }
  return readers;
}

/** Returns in which segment of a path a parameter is, however the pattern is written. */
export function positionOf(parameter: string, segments: readonly PatternSegment[], path: Path): number {
  const index = segments.findIndex((segment) => hasParameter(segment, parameter));
  const isAfterWildcard = segments.slice(0, index).some(({ kind }) => kind === "wildcard");
  return isAfterWildcard ? segmentsOf(path).length - segments.length + index : index;
}

/**
 * Adds the reader of the parameter in a mixed segment. With several parameters, there's no reader, because
 * routers divide the segment differently. The value is empty if the static parts aren't spelled exactly.
 */
function addMixedReader(
  readers: Map<string, ParameterReader>,
  parts: readonly SegmentPart[],
  readSegment: ParameterReader,
): void {
  const [parameter, ...otherParameters] = parts.filter((part) => typeof part !== "string");
  if (!parameter || otherParameters.length > 0) return;
  const position = parts.indexOf(parameter);
  const lengthBefore = stringLength(parts[position - 1]);
  const lengthAfter = stringLength(parts[position + 1]);
  readers.set(parameter.name, (path) => {
    const segment = readSegment(path);
    if (spellingOfMixed(segment, parts) !== "exact") return "";
    return decodeSegment(segment.slice(lengthBefore, segment.length - lengthAfter));
  });
}

const stringLength = (part: SegmentPart | undefined): number => (typeof part === "string" ? part.length : 0);

/** Reads the value of a wildcard; empty if the path ends with a slash, which only some routers include. */
const wildcardReader =
  (index: number, segmentsAfter: number): ParameterReader =>
  (path) => {
    if (hasTrailingSlash(path)) return "";
    const segments = segmentsOf(path);
    return segments
      .slice(index, segments.length - segmentsAfter)
      .map(decodeSegment)
      .join("/");
  };

/** Returns whether a segment has a parameter, or is a wildcard, of this name. */
export const hasParameter = (segment: PatternSegment, name: string): boolean =>
  partsOf(segment).some((part) => typeof part !== "string" && part.name === name);
