/** The paths that two patterns have in common. */
import { type PatternSegment, segmentIdentity } from "./pattern.ts";
import { compareParts, loosen, type SegmentPart, Spelled, spellParts } from "./segment.ts";

type Segments = readonly PatternSegment[];

/**
 * Returns patterns that together match all paths that both patterns match; none if no path matches both.
 * Letter case and percent-encoding make no difference. There are several if wildcards can overlap in several
 * ways: `/docs/*a` and `/*b/edit` have `/docs/edit` and `/docs/*a/edit` in common.
 */
export function commonPatterns(x: Segments, y: Segments): readonly Segments[] {
  const [xFirst, ...xRest] = x;
  const [yFirst, ...yRest] = y;
  if (!xFirst && !yFirst) return [[]];
  if (!xFirst || !yFirst) return [];
  // A wildcard matches one or more segments, so it can end here or continue.
  if (xFirst.kind === "wildcard" && yFirst.kind === "wildcard")
    return prepend(xFirst, [
      ...commonPatterns(xRest, yRest),
      ...commonPatterns(x, yRest),
      ...commonPatterns(xRest, y),
    ]);
  if (xFirst.kind === "wildcard")
    return prepend(yFirst, [...commonPatterns(xRest, yRest), ...commonPatterns(x, yRest)]);
  if (yFirst.kind === "wildcard")
    return prepend(xFirst, [...commonPatterns(xRest, yRest), ...commonPatterns(xRest, y)]);
  const common = commonSegment(xFirst, yFirst);
  return common ? prepend(common, commonPatterns(xRest, yRest)) : [];
}

/** Returns whether every path of one pattern is also a path of the other; `false` if that isn't certain. */
export function covers(covering: Segments, covered: Segments): boolean {
  const [wide, ...wideRest] = covering;
  const [narrow, ...narrowRest] = covered;
  if (!wide || !narrow) return !wide && !narrow;
  if (wide.kind === "wildcard") return covers(wideRest, narrowRest) || covers(covering, narrowRest);
  return coversSegment(wide, narrow) && covers(wideRest, narrowRest);
}

function coversSegment(wide: PatternSegment, narrow: PatternSegment): boolean {
  if (narrow.kind === "wildcard") return wide.kind === "wildcard";
  if (wide.kind === "parameter") return true;
  if (wide.kind === "static" || narrow.kind === "parameter")
    return segmentIdentity(wide) === segmentIdentity(narrow);
  // In an identity, one character stands for each parameter. No other string can match this character.
  const text = new Spelled(segmentIdentity(narrow));
  return wide.kind === "mixed" && compareParts(text, spellParts(wide.parts)) !== undefined;
}

const prepend = (segment: PatternSegment, rests: readonly Segments[]): readonly Segments[] =>
  rests.map((rest) => [segment, ...rest]);

/**
 * Returns a segment that stands for what both segments match; neither of them is a wildcard. No pattern can
 * express this for two mixed segments that overlap, so a segment with the parts of both stands for it.
 */
function commonSegment(x: PatternSegment, y: PatternSegment): PatternSegment | undefined {
  if (x.kind === "parameter") return y;
  if (y.kind === "parameter" || coversSegment(y, x)) return x;
  if (coversSegment(x, y)) return y;
  if (x.kind !== "mixed" || y.kind !== "mixed" || !haveCommonText(x, y)) return undefined;
  return { kind: "mixed", parts: [...x.parts, ...y.parts] };
}

type Mixed = Extract<PatternSegment, { kind: "mixed" }>;

/** Parameters match any string, so two segments exclude each other only if their beginnings or ends do. */
function haveCommonText({ parts: x }: Mixed, { parts: y }: Mixed): boolean {
  const xStart = loosenPart(x[0]);
  const yStart = loosenPart(y[0]);
  if (!xStart.startsWith(yStart) && !yStart.startsWith(xStart)) return false;
  const xEnd = loosenPart(x.at(-1));
  const yEnd = loosenPart(y.at(-1));
  return xEnd.endsWith(yEnd) || yEnd.endsWith(xEnd);
}

const loosenPart = (part: SegmentPart | undefined): string => (typeof part === "string" ? loosen(part) : "");
