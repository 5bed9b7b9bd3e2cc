/** Pattern overlap: whether some path is one of both patterns, in the loosest spelling that any router reads. */
import { type Alternative } from "../policy/containment.ts";
import { loosen } from "../policy/loose-texts.ts";
import { type PatternSegment } from "../policy/pattern.ts";

/** A character, or a parameter: one character or more. */
type Step = string | { readonly any: true };

/** Whether two patterns have a path in common. Letter case and percent-encoding do not tell paths apart. */
export function overlaps(a: Alternative, b: Alternative): boolean {
  return haveCommon(a, b, haveCommonText, ({ kind }) => kind === "wildcard");
}

function haveCommonText(a: PatternSegment, b: PatternSegment): boolean {
  return haveCommon(
    stepsOf(a),
    stepsOf(b),
    (one, other) => typeof one === "object" || typeof other === "object" || one === other,
    (step) => typeof step === "object",
  );
}

/**
 * Whether two sequences have a reading in common, where each item takes one place and some take one or more. Each pair of
 * places is looked at once, however many ways lead there.
 */
function haveCommon<Item>(
  a: readonly Item[],
  b: readonly Item[],
  canMeet: (a: Item, b: Item) => boolean,
  takesMore: (item: Item) => boolean,
): boolean {
  // The places of `b` that can be reached before the next item of `a`.
  let row: boolean[] = [true];
  for (const one of a) {
    const next: boolean[] = [];
    for (const [place, other] of b.entries()) {
      if (!row[place] || !canMeet(one, other)) continue;
      next[place + 1] = true;
      if (takesMore(one)) row[place + 1] = true;
      if (takesMore(other)) next[place] = true;
    }
    if (next.length === 0) return false;
    row = next;
  }
  return row[b.length] === true;
}

/** The text of a segment, step by step; parameters and wildcards need at least one character. */
function stepsOf(segment: PatternSegment): readonly Step[] {
  switch (segment.kind) {
    case "static":
      return Array.from(loosen(segment.text));
    case "mixed":
      return segment.parts.flatMap((part): readonly Step[] =>
        typeof part === "string" ? Array.from(loosen(part)) : [{ any: true }],
      );
    case "parameter":
    case "wildcard":
      return [{ any: true }];
  }
}
