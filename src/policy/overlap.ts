/** Pattern overlap: whether some path is one of both patterns, in the loosest spelling that any router reads. */
import { type Alternative } from "./containment.ts";
import { type PatternSegment } from "./pattern.ts";
import { loosen } from "./spellings.ts";

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
  const reached = new Set(["0 0"]);
  for (const [i, one] of a.entries()) {
    for (const [j, other] of b.entries()) {
      if (!reached.has(`${i} ${j}`) || !canMeet(one, other)) continue;
      reached.add(`${i + 1} ${j + 1}`);
      if (takesMore(one)) reached.add(`${i} ${j + 1}`);
      if (takesMore(other)) reached.add(`${i + 1} ${j}`);
    }
  }
  return reached.has(`${a.length} ${b.length}`);
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
