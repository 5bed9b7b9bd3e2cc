import { decodeSegment } from "../path.ts";
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
  const loose = texts.map(loosen);
  const separators = loose.slice(1).filter((text) => text !== "");
  return (segment) => {
    const shortest = cut(segment, texts);
    if (shortest) {
      const longest = cutFromTheRight(segment, texts);
      const isOneCut = shortest.every((capture, index) => capture === longest?.[index]);
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
function textsAround(parts: readonly SegmentPart[]): readonly string[] {
  const texts = [""];
  for (const part of parts) {
    if (typeof part === "string") texts.splice(-1, 1, part);
    else texts.push("");
  }
  return texts;
}

/** The cut with the shortest captures from the left: each at least one character, the last one up to the last text. */
function cut(segment: string, texts: readonly string[]): readonly string[] | undefined {
  const [first = "", ...rest] = texts;
  const last = rest.pop() ?? "";
  const end = segment.length - last.length;
  if (!segment.startsWith(first) || !segment.endsWith(last) || end <= first.length) return undefined;
  const captures: string[] = [];
  let position = first.length;
  for (const text of rest) {
    const next = segment.indexOf(text, position + 1);
    if (next === -1 || next + text.length >= end) return undefined;
    captures.push(segment.slice(position, next));
    position = next + text.length;
  }
  return [...captures, segment.slice(position, end)];
}

/** The cut with the shortest captures from the right. */
function cutFromTheRight(segment: string, texts: readonly string[]): readonly string[] | undefined {
  const [first = "", ...rest] = texts;
  const last = rest.pop() ?? "";
  const captures: string[] = [];
  let position = segment.length - last.length;
  for (const text of rest.toReversed()) {
    const next = segment.lastIndexOf(text, position - 1 - text.length);
    if (next <= first.length) return undefined;
    captures.unshift(segment.slice(next + text.length, position));
    position = next;
  }
  return [segment.slice(first.length, position), ...captures];
}

const loosen = (text: string): string => (decodeSegment(text) ?? text).toLowerCase();
