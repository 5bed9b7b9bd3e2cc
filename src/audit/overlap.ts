/** The paths that two patterns have in common. */
import { identityOf, type PatternSegment, segmentIdentity } from "../policy/pattern.ts";
import { loosen, type SegmentPart, spellingOfMixed } from "../policy/segment.ts";

type Segments = readonly PatternSegment[];

/**
 * Returns a pattern for paths that both patterns match, or `undefined` if no path matches both. Letter case
 * and percent-encoding make no difference. If two wildcards overlap in several ways, one is returned.
 */
export function meet(a: Segments, b: Segments): Segments | undefined {
  const [x, ...afterX] = a;
  const [y, ...afterY] = b;
  if (!x || !y) return x || y ? undefined : [];
  const isWide = (segment: PatternSegment) => segment.kind === "wildcard";
  if (!isWide(x) && !isWide(y)) {
    const segment = meetSegment(x, y);
    return segment && prepend(segment, meet(afterX, afterY));
  }
  // A wildcard matches one or more segments: it ends here, or continues.
  const both = isWide(x) && isWide(y);
  const taken = isWide(x) ? y : x;
  return (
    prepend(taken, meet(afterX, afterY)) ??
    (isWide(x) ? prepend(taken, meet(a, afterY)) : undefined) ??
    (isWide(y) ? prepend(both ? x : taken, meet(afterX, b)) : undefined)
  );
}

/** Returns whether every path of one pattern is a path of another. */
export function covers(covering: Segments, covered: Segments): boolean {
  const common = meet(covering, covered);
  return common !== undefined && identityOf(common) === identityOf(covered);
}

const prepend = (segment: PatternSegment, rest: Segments | undefined): Segments | undefined =>
  rest && [segment, ...rest];

function meetSegment(x: PatternSegment, y: PatternSegment): PatternSegment | undefined {
  if (x.kind === "parameter") return y;
  if (y.kind === "parameter" || segmentIdentity(x) === segmentIdentity(y)) return x;
  if (x.kind === "mixed" && y.kind === "mixed")
    return haveCommonText(x, y) ? { kind: "mixed", parts: [...x.parts, ...y.parts] } : undefined;
  const [fixed, mixed] = x.kind === "static" ? [x, y] : [y, x];
  if (fixed.kind !== "static" || mixed.kind !== "mixed") return undefined;
  return spellingOfMixed(loosen(fixed.text), mixed.parts) ? fixed : undefined;
}

type Mixed = Extract<PatternSegment, { kind: "mixed" }>;

/** Parameters match any text, so two segments exclude each other only if their beginnings or ends do. */
function haveCommonText({ parts: x }: Mixed, { parts: y }: Mixed): boolean {
  const [start, otherStart, end, otherEnd] = [textOf(x[0]), textOf(y[0]), textOf(x.at(-1)), textOf(y.at(-1))];
  const agreeAtStart = start.startsWith(otherStart) || otherStart.startsWith(start);
  return agreeAtStart && (end.endsWith(otherEnd) || otherEnd.endsWith(end));
}

const textOf = (part: SegmentPart | undefined): string => (typeof part === "string" ? loosen(part) : "");
