/** Compares one segment of a path with the text of a pattern. */
import { attempt } from "../errors.ts";

/** A string, or a parameter between two strings. */
export type SegmentPart = string | { readonly type: "param" | "wildcard"; readonly name: string };

/** How a segment spells a pattern's string: exactly, in other letter case, or only if a router decodes it. */
export type Spelling = "exact" | "case" | "decoded";

/** Returns a segment as a handler sees it. Invalid percent-encoding is kept as it is. */
export const decodeSegment = (segment: string): string =>
  segment.includes("%") ? (attempt(() => decodeURIComponent(segment)) ?? segment) : segment;

/** Folds all letters that some router compares as equal: `ſ` and the Kelvin sign need both steps. */
const foldCase = (text: string): string => text.toUpperCase().toLowerCase();

/** Returns the loosest spelling: in one letter case, and decoded twice, as by Fastify and then by tRPC. */
export const loosen = (segment: string): string => foldCase(decodeSegment(decodeSegment(segment)));

/** Returns how a segment spells a string that has the same loosest spelling. */
export function spellingOf(segment: string, text: string): Spelling {
  if (segment === text) return "exact";
  return foldCase(segment) === foldCase(text) ? "case" : "decoded";
}

/** Returns how a segment spells the strings of a mixed segment; `undefined` without a match. Linear time. */
export function spellingOfMixed(segment: string, parts: readonly SegmentPart[]): Spelling | undefined {
  if (matches(segment, parts, (text) => text)) return "exact";
  if (matches(foldCase(segment), parts, foldCase)) return "case";
  return matches(loosen(segment), parts, loosen) ? "decoded" : undefined;
}

/** Each parameter matches at least one character, and as few as the string after it allows. */
function matches(segment: string, parts: readonly SegmentPart[], spell: (text: string) => string): boolean {
  let from = 0;
  let needed = 0;
  for (const [index, part] of parts.entries()) {
    if (typeof part !== "string") {
      needed += 1;
      continue;
    }
    const text = spell(part);
    const isLast = index === parts.length - 1;
    const at =
      needed === 0 ? 0 : isLast ? segment.length - text.length : segment.indexOf(text, from + needed);
    if (at < from + needed || !segment.startsWith(text, at)) return false;
    from = at + text.length;
    needed = 0;
  }
  return needed === 0 ? from === segment.length : segment.length - from >= needed;
}
