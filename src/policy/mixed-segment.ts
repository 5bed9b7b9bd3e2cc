import { decodeOrKeep } from "../path.ts";
import { type SegmentPart } from "./pattern.ts";

/** What the parameters of a mixed segment (`:from-:to`, `:id.json`) take of a text. */
export interface MixedMatch {
  readonly captures: readonly string[];
  /**
   * Whether every router cuts the text in the same place. `a-b-c` is `a` and `b-c` to one and `a-b` and `c` to another:
   * scopes bound to one cut must not open a handler that gets the other.
   */
  readonly isCertain: boolean;
}

/** Matches one mixed segment; linear in the text. */
export type MixedMatcher = (segment: string) => MixedMatch | undefined;

export function createMixedMatcher(parts: readonly SegmentPart[]): MixedMatcher {
  const texts = textsAround(parts);
  const loose: Texts = {
    first: loosen(texts.first),
    between: texts.between.map(loosen),
    last: loosen(texts.last),
  };
  const separators = [...loose.between, loose.last].filter((text) => text !== "");
  return (segment) => {
    const shortest = cut(segment, texts);
    if (shortest) {
      const longest = cutFromTheRight(segment, texts);
      const isOneCut = shortest.every((capture, index) => capture === longest[index]);
      return { captures: shortest, isCertain: isOneCut && shortest.every((capture) => isClean(capture)) };
    }
    // To a router that ignores case, or decodes before it matches, this may be the segment all the same.
    const lenient = cut(loosen(segment), loose);
    return lenient && { captures: lenient, isCertain: false };
  };

  function isClean(capture: string): boolean {
    const text = loosen(capture);
    return !separators.some((separator) => text.includes(separator));
  }
}

/** The texts before, between and behind the parameters; empty where two are side by side. */
interface Texts {
  readonly first: string;
  readonly between: readonly string[];
  readonly last: string;
}

function textsAround(parts: readonly SegmentPart[]): Texts {
  const inFront: string[] = [];
  let last = "";
  for (const part of parts) {
    if (typeof part !== "string") inFront.push(last);
    last = typeof part === "string" ? part : "";
  }
  const [first = "", ...between] = inFront;
  return { first, between, last };
}

/** The cut with the shortest captures from the left: each at least one character, the last one up to the last text. */
function cut(segment: string, { first, between, last }: Texts): readonly string[] | undefined {
  const end = segment.length - last.length;
  if (!segment.startsWith(first) || !segment.endsWith(last) || end <= first.length) return undefined;
  const captures: string[] = [];
  let position = first.length;
  for (const text of between) {
    const next = segment.indexOf(text, position + 1);
    if (next === -1 || next + text.length >= end) return undefined;
    captures.push(segment.slice(position, next));
    position = next + text.length;
  }
  return [...captures, segment.slice(position, end)];
}

/** The cut with the shortest captures from the right, of what can be cut from the left, and so from the right. */
function cutFromTheRight(segment: string, { first, between, last }: Texts): readonly string[] {
  const captures: string[] = [];
  let position = segment.length - last.length;
  for (const text of between.toReversed()) {
    const next = segment.lastIndexOf(text, position - 1 - text.length);
    captures.unshift(segment.slice(next + text.length, position));
    position = next;
  }
  return [segment.slice(first.length, position), ...captures];
}

const loosen = (text: string): string => decodeOrKeep(text).toLowerCase();
