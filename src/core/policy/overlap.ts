/** The paths that two patterns have in common. */
import { type PatternSegment, segmentIdentity } from "./pattern.ts";
import { loosen, type SegmentPart, spellingOfMixed } from "./segment.ts";

type Segments = readonly PatternSegment[];

/**
 * Returns patterns that together match the paths that both patterns match; none if no path matches both.
 * Letter case and percent-encoding make no difference. There are several if two wildcards can overlap in
 * several ways: `/docs/*a` and `/*b/edit` have `/docs/edit` and `/docs/*a/edit` in common.
 */
export function commonPatterns(a: Segments, b: Segments): readonly Segments[] {
  const [first, ...afterFirst] = a;
  const [second, ...afterSecond] = b;
  if (!first || !second) return first || second ? [] : [[]];
  if (first.kind === "wildcard" && second.kind === "wildcard")
    return [
      ...prepend(first, commonPatterns(afterFirst, afterSecond)),
      ...prepend(first, commonPatterns(a, afterSecond)),
      ...prepend(first, commonPatterns(afterFirst, b)),
    ];
  // A wildcard matches one or more segments: it ends here, or continues.
  if (first.kind === "wildcard")
    return prepend(second, [...commonPatterns(afterFirst, afterSecond), ...commonPatterns(a, afterSecond)]);
  if (second.kind === "wildcard")
    return prepend(first, [...commonPatterns(afterFirst, afterSecond), ...commonPatterns(afterFirst, b)]);
  const common = commonSegment(first, second);
  return common ? prepend(common, commonPatterns(afterFirst, afterSecond)) : [];
}

/** Returns whether every path of one pattern is a path of another; `false` if that is not certain. */
export function covers(covering: Segments, covered: Segments): boolean {
  const [wide, ...afterWide] = covering;
  const [narrow, ...afterNarrow] = covered;
  if (!wide || !narrow) return !wide && !narrow;
  if (wide.kind === "wildcard") return covers(afterWide, afterNarrow) || covers(covering, afterNarrow);
  return coversSegment(wide, narrow) && covers(afterWide, afterNarrow);
}

function coversSegment(wide: PatternSegment, narrow: PatternSegment): boolean {
  if (narrow.kind === "wildcard") return wide.kind === "wildcard";
  if (wide.kind === "parameter") return true;
  if (wide.kind === "static" || narrow.kind === "parameter")
    return segmentIdentity(wide) === segmentIdentity(narrow);
  return wide.kind === "mixed" && coversMixed(wide.parts, narrow);
}

/** In an identity, one character stands for each parameter: it is text that no other text can match. */
export const coversMixed = (
  wide: readonly SegmentPart[],
  narrow: Exclude<PatternSegment, { kind: "parameter" | "wildcard" }>,
): boolean => spellingOfMixed(segmentIdentity(narrow), wide) !== undefined;

const prepend = (segment: PatternSegment, rests: readonly Segments[]): readonly Segments[] =>
  rests.map((rest) => [segment, ...rest]);

function commonSegment(x: PatternSegment, y: PatternSegment): PatternSegment | undefined {
  if (x.kind === "parameter") return y;
  if (y.kind === "parameter" || coversSegment(y, x)) return x;
  if (coversSegment(x, y)) return y;
  return x.kind === "mixed" && y.kind === "mixed" && haveCommonText(x, y)
    ? { kind: "mixed", parts: [...x.parts, ...y.parts] }
    : undefined;
}

type Mixed = Extract<PatternSegment, { kind: "mixed" }>;

/** Parameters match any text, so two segments exclude each other only if their beginnings or ends do. */
function haveCommonText({ parts: x }: Mixed, { parts: y }: Mixed): boolean {
  const [start, otherStart, end, otherEnd] = [textOf(x[0]), textOf(y[0]), textOf(x.at(-1)), textOf(y.at(-1))];
  const agreeAtStart = start.startsWith(otherStart) || otherStart.startsWith(start);
  return agreeAtStart && (end.endsWith(otherEnd) || otherEnd.endsWith(end));
}

const textOf = (part: SegmentPart | undefined): string => (typeof part === "string" ? loosen(part) : "");
