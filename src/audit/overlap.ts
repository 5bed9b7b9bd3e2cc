/** What two patterns have in common. */
import { identityOf, type PatternSegment, segmentIdentity } from "../policy/pattern.ts";
import { loosen, spellingOfMixed } from "../policy/segment.ts";

type Segments = readonly PatternSegment[];

/**
 * A pattern for paths that both patterns match, or `undefined` where no path matches both. Letter case and
 * percent-encoding make no difference. Two wildcards can overlap in several ways; one of them is returned.
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
  // A wildcard takes one segment or more: it ends here, or goes on.
  const both = isWide(x) && isWide(y);
  const taken = isWide(x) ? y : x;
  return (
    prepend(taken, meet(afterX, afterY)) ??
    (isWide(x) ? prepend(taken, meet(a, afterY)) : undefined) ??
    (isWide(y) ? prepend(both ? x : taken, meet(afterX, b)) : undefined)
  );
}

/** Whether every path of one pattern is a path of another. */
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

/** A character, or a parameter: one character or more. */
type Step = string | undefined;

const stepsOf = ({ parts }: Mixed): readonly Step[] =>
  parts.flatMap((part): readonly Step[] =>
    typeof part === "string" ? Array.from(loosen(part)) : [undefined],
  );

/** Each pair of places is looked at once, however many ways lead there. */
function haveCommonText(x: Mixed, y: Mixed): boolean {
  const other = stepsOf(y);
  // The places of `y` that can be reached before the next step of `x`.
  let row: boolean[] = [true];
  for (const step of stepsOf(x)) {
    const next: boolean[] = [];
    for (const [place, own] of other.entries()) {
      if (!row[place] || (step !== undefined && own !== undefined && step !== own)) continue;
      next[place + 1] = true;
      if (step === undefined) row[place + 1] = true;
      if (own === undefined) next[place] = true;
    }
    row = next;
  }
  return row[other.length] === true;
}
