/** Compares one segment of a path with a segment of a pattern. */
import { orUndefined } from "../errors.ts";

/** A string, or a parameter between two strings. */
export type SegmentPart = string | { readonly type: "param" | "wildcard"; readonly name: string };

/** How a segment spells a pattern's string: exactly, in another letter case, or only when decoded. */
export type Spelling = "exact" | "case" | "decoded";

/** Returns a segment as a handler receives it. Invalid percent-encoding is kept. */
export const decodeSegment = (segment: string): string =>
  segment.includes("%") ? (orUndefined(() => decodeURIComponent(segment)) ?? segment) : segment;

/** Folds all letters that any router compares as equal: `ſ` and the Kelvin sign need both steps. */
export const foldCase = (text: string): string => text.toUpperCase().toLowerCase();

/** Returns the loosest spelling: in one letter case, and decoded twice, as by Fastify and then by tRPC. */
export const loosen = (segment: string): string => foldCase(decodeSegment(decodeSegment(segment)));

/**
 * A string in the spellings that routers compare. Each spelling is computed once, when it's first needed: a
 * segment may have thousands of characters, and is compared with many patterns.
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

  /** In one letter case and decoded: the loosest spelling. */
  get decoded(): string {
    return (this.#decoded ??= this.exact.includes("%") ? loosen(this.exact) : this.case);
  }
}

/** The static parts of a segment in all spellings, with `undefined` for each parameter between them. */
export type SpelledParts = readonly (Spelled | undefined)[];

export const spellParts = (parts: readonly SegmentPart[]): SpelledParts =>
  parts.map((part) => (typeof part === "string" ? new Spelled(part) : undefined));

/** Returns the strictest spelling in which a segment matches a pattern, if any does. Takes linear time. */
export function compareParts(segment: Spelled, parts: SpelledParts): Spelling | undefined {
  if (matchesInSpelling(segment, parts, "exact")) return "exact";
  if (changesSpelling(segment, parts, "exact", "case") && matchesInSpelling(segment, parts, "case"))
    return "case";
  if (changesSpelling(segment, parts, "case", "decoded") && matchesInSpelling(segment, parts, "decoded"))
    return "decoded";
  return undefined;
}

/** Returns whether a looser spelling changes a string. If not, it needn't be compared again. */
const changesSpelling = (segment: Spelled, parts: SpelledParts, strict: Spelling, loose: Spelling): boolean =>
  segment[strict] !== segment[loose] || parts.some((part) => part && part[strict] !== part[loose]);

/** Each parameter matches as few characters as the string after it allows, but at least one. */
function matchesInSpelling(spelled: Spelled, parts: SpelledParts, spelling: Spelling): boolean {
  const segment = spelled[spelling];
  /** Where the last string ends, and how many parameters come after it. */
  let end = 0;
  let parameters = 0;
  // A counting loop: an iterator takes twice as long, and a request may be compared with many patterns.
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index];
    if (!part) {
      parameters += 1;
      continue;
    }
    const text = part[spelling];
    let start = 0;
    if (parameters > 0) {
      const isLast = index === parts.length - 1;
      start = isLast ? segment.length - text.length : segment.indexOf(text, end + parameters);
    }
    if (start < end + parameters || !segment.startsWith(text, start)) return false;
    end = start + text.length;
    parameters = 0;
  }
  return parameters === 0 ? end === segment.length : segment.length - end >= parameters;
}
