/** Compares one segment of a path with the text of a pattern. */
import { attempt } from "../errors.ts";

/** Text, or a parameter between two texts. */
export type SegmentPart = string | { readonly type: "param" | "wildcard"; readonly name: string };

/** How a segment spells a pattern's text: exactly, in other letter case, or only for routers that decode. */
export type Spelling = "exact" | "case" | "decoded";

/** A segment as a handler sees it. Invalid percent-encoding is kept as it is. */
export const decodeSegment = (segment: string): string =>
  segment.includes("%") ? (attempt(() => decodeURIComponent(segment)) ?? segment) : segment;

/** Folds all letters that some router compares as equal: `ſ` and the Kelvin sign need both steps. */
const foldCase = (text: string): string => text.toUpperCase().toLowerCase();

/** The loosest spelling: decoded, and in one letter case. Twice: tRPC decodes what Fastify has decoded. */
export const loosen = (segment: string): string => foldCase(decodeSegment(decodeSegment(segment)));

/** How a segment spells a text that has the same loosest spelling. */
export function spellingOf(segment: string, text: string): Spelling {
  if (segment === text) return "exact";
  return foldCase(segment) === foldCase(text) ? "case" : "decoded";
}

/** How a segment spells a mixed segment's texts; `undefined` if it does not match. Linear in the segment. */
export function spellingOfMixed(segment: string, parts: readonly SegmentPart[]): Spelling | undefined {
  if (matches(segment, parts, (text) => text)) return "exact";
  if (matches(foldCase(segment), parts, foldCase)) return "case";
  return matches(loosen(segment), parts, loosen) ? "decoded" : undefined;
}

/** Each parameter matches at least one character, and as few as the text behind it allows. */
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
