/** Where in a path the parameters of a pattern are. */
import { hasTrailingSlash, type Path, segmentAt, segmentsOf } from "../request.ts";
import { type PatternSegment } from "./pattern.ts";
import { type ParameterReader } from "./rule.ts";
import { decodeSegment, type SegmentPart, spellingOfMixed } from "./segment.ts";

/** Returns a reader for each parameter. Segments after a wildcard are counted from the end of the path. */
export function parameterReaders(segments: readonly PatternSegment[]): ReadonlyMap<string, ParameterReader> {
  const wildcard = segments.findIndex(({ kind }) => kind === "wildcard");
  return new Map(
    segments.flatMap((segment, index): [string, ParameterReader][] => {
      const isBehind = wildcard >= 0 && index > wildcard;
      const segmentOf = (path: Path): string =>
        isBehind ? (segmentsOf(path).at(index - segments.length) ?? "") : segmentAt(path, index);
      switch (segment.kind) {
        case "static":
          return [];
        case "parameter":
          return [[segment.name, (path) => decodeSegment(segmentOf(path))]];
        case "mixed":
          return readersOfMixed(segment.parts, segmentOf);
        case "wildcard":
          return [[segment.name, restReader(index, segments.length - index - 1)]];
      }
    }),
  );
}

/** Returns the reader of the one parameter in a mixed segment; empty if the text around it is not exact. */
function readersOfMixed(
  parts: readonly SegmentPart[],
  segmentOf: ParameterReader,
): [string, ParameterReader][] {
  const keys = parts.filter((part) => typeof part !== "string");
  const [key] = keys;
  if (!key || keys.length > 1) return [];
  const at = parts.indexOf(key);
  const [before = "", after = ""] = [parts[at - 1], parts[at + 1]].map((part) => part as string | undefined);
  const read: ParameterReader = (path) => {
    const segment = segmentOf(path);
    if (spellingOfMixed(segment, parts) !== "exact") return "";
    return decodeSegment(segment.slice(before.length, segment.length - after.length));
  };
  return [[key.name, read]];
}

/** Returns the text of a wildcard; empty if the path ends in a slash, which only some routers include. */
const restReader =
  (index: number, behind: number): ParameterReader =>
  (path) => {
    if (hasTrailingSlash(path)) return "";
    const segments = segmentsOf(path);
    return segments
      .slice(index, segments.length - behind)
      .map(decodeSegment)
      .join("/");
  };
