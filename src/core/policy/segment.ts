/** Compares one segment of a path with the text of a pattern. */
import { orUndefined } from "../errors.ts";

/** A string, or a parameter between two strings. */
export type SegmentPart = string | { readonly type: "param" | "wildcard"; readonly name: string };

/** How a segment spells a pattern's string: exactly, in other letter case, or only if a router decodes it. */
export type Spelling = "exact" | "case" | "decoded";

/** Returns a segment as a handler sees it. Invalid percent-encoding is kept as it is. */
export const decodeSegment = (segment: string): string =>
  segment.includes("%") ? (orUndefined(() => decodeURIComponent(segment)) ?? segment) : segment;

/** Folds all letters that some router compares as equal: `ſ` and the Kelvin sign need both steps. */
const foldCase = (text: string): string => text.toUpperCase().toLowerCase();

/** Returns the loosest spelling: in one letter case, and decoded twice, as by Fastify and then by tRPC. */
export const loosen = (segment: string): string => foldCase(decodeSegment(decodeSegment(segment)));

/** Returns how a segment spells a string that has the same loosest spelling. */
export function spellingOf(segment: string, text: string): Spelling {
  if (segment === text) return "exact";
  return foldCase(segment) === foldCase(text) ? "case" : "decoded";
}

/**
 * A string in the spellings in which routers compare it. Each is computed when it is first needed, and only
 * once: a segment may have thousands of characters, and is compared with many patterns.
 */
export class Spelled {
  readonly exact: string;
  #case: string | undefined;
  #decoded: string | undefined;

  /** With `isPlain`, a string that has only one spelling: neither upper-case letters nor percent-encoding. */
  constructor(text: string, isPlain = false) {
    this.exact = text;
    if (isPlain) this.#case = this.#decoded = text;
  }

  /** In one letter case. */
  get case(): string {
    return (this.#case ??= foldCase(this.exact));
  }

  /** In one letter case, and decoded: the loosest spelling. */
  get decoded(): string {
    return (this.#decoded ??= this.exact.includes("%") ? loosen(this.exact) : this.case);
  }
}

/** The strings of a segment in all spellings, with `undefined` for each parameter between them. */
export type SpelledParts = readonly (Spelled | undefined)[];

export const spellParts = (parts: readonly SegmentPart[]): SpelledParts =>
  parts.map((part) => (typeof part === "string" ? new Spelled(part) : undefined));

/** Returns how a segment spells the strings of a pattern; `undefined` without a match. Takes linear time. */
export function compareParts(segment: Spelled, parts: SpelledParts): Spelling | undefined {
  if (matches(segment, parts, "exact")) return "exact";
  if (differ(segment, parts, "exact", "case") && matches(segment, parts, "case")) return "case";
  return differ(segment, parts, "case", "decoded") && matches(segment, parts, "decoded")
    ? "decoded"
    : undefined;
}

/** Returns whether two spellings of the strings are different, so that comparing the second is of use. */
const differ = (segment: Spelled, parts: SpelledParts, one: Spelling, other: Spelling): boolean =>
  segment[one] !== segment[other] || parts.some((part) => part && part[one] !== part[other]);

/** Like `compareParts`, for strings that are compared only once. */
export const spellingOfMixed = (segment: string, parts: readonly SegmentPart[]): Spelling | undefined =>
  compareParts(new Spelled(segment), spellParts(parts));

/** Each parameter matches at least one character, and as few as the string after it allows. */
function matches(spelled: Spelled, parts: SpelledParts, spelling: Spelling): boolean {
  const segment = spelled[spelling];
  let from = 0;
  let needed = 0;
  // Counted, because hundreds of patterns may be compared for one request: an iterator takes twice as long.
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index];
    if (!part) {
      needed += 1;
      continue;
    }
    const text = part[spelling];
    const isLast = index === parts.length - 1;
    const at =
      needed === 0 ? 0 : isLast ? segment.length - text.length : segment.indexOf(text, from + needed);
    if (at < from + needed || !segment.startsWith(text, at)) return false;
    from = at + text.length;
    needed = 0;
  }
  return needed === 0 ? from === segment.length : segment.length - from >= needed;
}
