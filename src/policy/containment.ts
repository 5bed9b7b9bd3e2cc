/**
 * Pattern containment: whether every path of one pattern is a path of another. A rule may decide for a route that the
 * framework matched only when it covers the *whole* route; one that covers a part of its paths says nothing of the rest.
 */
import { createMixedMatcher } from "./mixed-segment.ts";
import { type PatternSegment, segmentIdentity, type SegmentPart } from "./pattern.ts";
import { narrowerFirst } from "./segment-trie.ts";

/** One alternative of a pattern. */
export type Alternative = readonly PatternSegment[];

/** For each parameter of the covering pattern: the segments of the covered one that fill it, each as its parts. */
export type Filling = ReadonlyMap<string, readonly (readonly SegmentPart[])[]>;

type Entry = readonly [name: string, segments: readonly (readonly SegmentPart[])[]];

/** Whether two texts are one to the router. */
type Same = (a: string, b: string) => boolean;

const inCase: Same = (a, b) => a === b;
const inAnyCase: Same = (a, b) => a.toLowerCase() === b.toLowerCase();

/**
 * How `covering` contains `covered`, or `undefined` when it does not contain all of it. To a router that ignores case,
 * texts of patterns that differ in it are the same.
 */
export function findFilling(
  covering: Alternative,
  covered: Alternative,
  ignoreCase = false,
): Filling | undefined {
  const entries = fill(covering, covered, ignoreCase ? inAnyCase : inCase);
  return entries && new Map(entries);
}

/** Orders two patterns that cover the same route: from the left static, mixed, parameter, wildcard. */
export function compareNarrowness(a: Alternative, b: Alternative): number {
  for (const [index, left] of a.entries()) {
    const right = b[index];
    if (!right) return -1;
    const order = RANK[left.kind] - RANK[right.kind];
    if (order !== 0) return order;
    // Behind a wildcard the number of segments is fixed: more of them leave less to the wildcard.
    if (left.kind === "wildcard" && a.length !== b.length) return b.length - a.length;
    if (left.kind === "mixed") {
      const byText = narrowerFirst(segmentIdentity(left), segmentIdentity(right));
      if (byText !== 0) return byText;
    }
  }
  return b.length - a.length;
}

const RANK = { static: 0, mixed: 1, parameter: 2, wildcard: 3 };

function fill([head, ...rest]: Alternative, covered: Alternative, same: Same): Entry[] | undefined {
  if (!head) return covered.length === 0 ? [] : undefined;
  if (head.kind === "wildcard") return fillWildcard(head.name, rest, covered, same);
  const [first, ...others] = covered;
  const own = first && fillSegment(head, first, same);
  const tail = own && fill(rest, others, same);
  return tail && [...own, ...tail];
}

/** A wildcard takes at least one segment, and as few as the rest of the pattern lets it. */
function fillWildcard(
  name: string,
  rest: Alternative,
  covered: Alternative,
  same: Same,
): Entry[] | undefined {
  const [first] = covered;
  if (first?.kind === "static" && first.text === "") return undefined;
  for (let taken = 1; taken <= covered.length; taken += 1) {
    const tail = fill(rest, covered.slice(taken), same);
    if (tail) return [[name, covered.slice(0, taken).map(partsOf)], ...tail];
  }
  return undefined;
}

function fillSegment(
  covering: Exclude<PatternSegment, { kind: "wildcard" }>,
  covered: PatternSegment,
  same: Same,
): Entry[] | undefined {
  switch (covering.kind) {
    case "static":
      return same(segmentIdentity(covering), segmentIdentity(covered)) ? [] : undefined;
    case "mixed":
      return fillMixed(covering.parts, covered, same);
    case "parameter":
      if (covered.kind === "wildcard" || (covered.kind === "static" && covered.text === "")) return undefined;
      return [[covering.name, [partsOf(covered)]]];
  }
}

function fillMixed(parts: readonly SegmentPart[], covered: PatternSegment, same: Same): Entry[] | undefined {
  const names = parts.flatMap((part) => (typeof part === "string" ? [] : [part.name]));
  const taken = takenByMixed(parts, covered, same);
  return taken && names.map((name, index) => [name, [taken.slice(index, index + 1)]]);
}

/** What each parameter of a mixed segment takes of a covered one. */
function takenByMixed(
  parts: readonly SegmentPart[],
  covered: PatternSegment,
  same: Same,
): readonly SegmentPart[] | undefined {
  if (covered.kind === "static") {
    const match = createMixedMatcher(parts)(covered.text);
    return match?.isCertain ? match.captures : undefined;
  }
  if (!same(segmentIdentity({ kind: "mixed", parts }), segmentIdentity(covered))) return undefined;
  return partsOf(covered).filter((part) => typeof part !== "string");
}

function partsOf(segment: PatternSegment): readonly SegmentPart[] {
  switch (segment.kind) {
    case "static":
      return [segment.text];
    case "mixed":
      return segment.parts;
    case "parameter":
      return [{ type: "param", name: segment.name }];
    case "wildcard":
      return [{ type: "wildcard", name: segment.name }];
  }
}
