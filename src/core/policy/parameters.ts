/** Where in a path the parameters of a pattern are. */
import { hasTrailingSlash, type Path, segmentAt, segmentsOf } from "../request.ts";
import { namesOf, type PatternSegment, segmentIdentity } from "./pattern.ts";
import { decodeSegment, type SegmentPart, spellingOfMixed } from "./segment.ts";

/** What parameters are read from: the path of a request, and a pattern that matches it. */
export interface ParameterSource {
  readonly path: Path;
  readonly segments: readonly PatternSegment[];
}

/** A parameter of a pattern. */
interface PatternParameter {
  readonly segment: PatternSegment;
  /** Equal for segments with the same static parts. */
  readonly identity: string;
  /** The index of the segment; after a wildcard, it's negative: counted from the end of the path. */
  readonly index: number;
}

const parameters = new WeakMap<readonly PatternSegment[], ReadonlyMap<string, PatternParameter>>();

/** Returns the parameters of a pattern. Handlers receive the last one of a repeated name. */
export function parametersOf(segments: readonly PatternSegment[]): ReadonlyMap<string, PatternParameter> {
  const remembered = parameters.get(segments);
  if (remembered) return remembered;
  const wildcard = segments.findIndex(({ kind }) => kind === "wildcard");
  const entries = segments.flatMap((segment, position) => {
    const index = wildcard >= 0 && position > wildcard ? position - segments.length : position;
    const parameter = { segment, identity: segmentIdentity(segment), index };
    return namesOf(segment).map((name) => [name, parameter] as const);
  });
  const ofPattern = new Map(entries);
  parameters.set(segments, ofPattern);
  return ofPattern;
}

/** Returns the index of a parameter's segment in a path. */
export const indexIn = (path: Path, { index }: PatternParameter): number =>
  index < 0 ? segmentsOf(path).length + index : index;

/** Returns where a parameter is: the index of its segment in the path, or the name of an argument. */
export function positionOf(source: ParameterSource | undefined, name: string): number | string {
  const parameter = source && parametersOf(source.segments).get(name);
  return parameter ? indexIn(source.path, parameter) : name;
}

/** Returns the value of a parameter; empty if routers may read another value. */
export function readParameter({ path, segments }: ParameterSource, name: string): string {
  const parameter = parametersOf(segments).get(name);
  if (!parameter) return "";
  const { segment } = parameter;
  const index = indexIn(path, parameter);
  if (segment.kind === "wildcard") return readWildcard(path, index, segments.length - index - 1);
  const text = segmentAt(path, index);
  return decodeSegment(segment.kind === "mixed" ? readMixed(text, segment.parts) : text);
}

/** Routers divide a segment with several parameters differently, and may match other static parts loosely. */
function readMixed(text: string, parts: readonly SegmentPart[]): string {
  const lengths = parts.map((part) => (typeof part === "string" ? part.length : 0));
  const position = lengths.indexOf(0);
  const isCertain = lengths.lastIndexOf(0) === position && spellingOfMixed(text, parts) === "exact";
  return isCertain ? text.slice(lengths[position - 1] ?? 0, text.length - (lengths[position + 1] ?? 0)) : "";
}

/** Only some routers include a slash at the end of the path. */
function readWildcard(path: Path, index: number, segmentsAfter: number): string {
  if (hasTrailingSlash(path)) return "";
  const segments = segmentsOf(path);
  return segments
    .slice(index, segments.length - segmentsAfter)
    .map(decodeSegment)
    .join("/");
}
