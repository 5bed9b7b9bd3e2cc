import { decodeSegment, type PathReading, type PathSegments } from "../request.ts";
import { type CompiledRule } from "./rule.ts";

/**
 * One way to read a path: exactly as it is spelled, as the router is known to read it, or as some other router might.
 */
export interface Spelling {
  readonly compared: PathSegments;
  /** The same segments as the client spelled them. */
  readonly path: PathSegments;
  readonly kind: "exact" | "declared" | "foreign";
}

interface Choice {
  readonly text: string;
  readonly kind: Spelling["kind"];
}

const KINDS = ["exact", "declared", "foreign"] as const;

const PLAIN = /^[^%;A-Z]+$/;

/** More than an honest path has: each of its segments would have to be written in another case than the table's. */
const MAX_SPELLINGS = 64;

/** The texts of a table, by their loosest spelling: what a segment might be taken for. */
export class Spellings {
  readonly #texts = new Map<string, readonly string[]>();
  #isPlain = true;
  #hasTrailingSlash = false;

  constructor(rules: readonly CompiledRule[]) {
    const segments = rules.flatMap(({ pattern }) => pattern.alternatives.flat());
    for (const text of new Set(
      segments.flatMap((segment) => (segment.kind === "static" ? [segment.text] : [])),
    )) {
      this.#texts.set(loosen(text), [...(this.#texts.get(loosen(text)) ?? []), text]);
      if (text === "") this.#hasTrailingSlash = true;
      else if (!isPlain(text)) this.#isPlain = false;
    }
  }

  /** Every reading of a path that could lead to a rule, the exact one first; `undefined` for too many. */
  of(path: PathSegments, reading: PathReading): readonly Spelling[] | undefined {
    const exact: Spelling = { compared: path, path, kind: "exact" };
    if (this.#isPlain && !this.#hasTrailingSlash && path.every(isPlain)) return [exact];
    let spellings = this.#ends(path, reading);
    for (const [index, segment] of path.entries()) {
      const choices = this.#choices(segment, reading);
      if (choices.length === 0) continue;
      spellings = spellings.flatMap((spelling) => [
        spelling,
        ...choices.map((choice) => choose(spelling, index, choice)),
      ]);
      if (spellings.length > MAX_SPELLINGS) return undefined;
    }
    return spellings.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  }

  /** With and without the trailing slash. */
  #ends(path: PathSegments, reading: PathReading): readonly Spelling[] {
    const exact: Spelling = { compared: path, path, kind: "exact" };
    if (reading.ignoreTrailingSlash === false || path.length === 0) return [exact];
    const kind = reading.ignoreTrailingSlash ? "declared" : "foreign";
    if (path.at(-1) === "") return [exact, { compared: path.slice(0, -1), path: path.slice(0, -1), kind }];
    return this.#hasTrailingSlash ? [exact, { compared: [...path, ""], path: [...path, ""], kind }] : [exact];
  }

  /** The other texts of the table that a segment might be taken for. */
  #choices(segment: string, { ignoreCase }: PathReading): readonly Choice[] {
    if (segment === "") return [];
    return (this.#texts.get(loosen(segment)) ?? []).flatMap((text): Choice[] => {
      if (text === segment) return [];
      const isCaseOnly = text.toLowerCase() === segment.toLowerCase();
      if (isCaseOnly && ignoreCase) return [{ text, kind: "declared" }];
      // A router that minds letter case may still decode, or take `%c3` for `%C3`.
      const isOther = ignoreCase === false && plain(text) !== plain(segment);
      return isOther ? [] : [{ text, kind: "foreign" }];
    });
  }
}

function choose({ compared, path, kind }: Spelling, index: number, choice: Choice): Spelling {
  const worst = KINDS[Math.max(KINDS.indexOf(kind), KINDS.indexOf(choice.kind))] ?? "foreign";
  return { compared: compared.with(index, choice.text), path, kind: worst };
}

/** Decoded, and without a parameter of the segment (`;v=1`). */
const plain = (segment: string): string => (decodeSegment(segment) ?? segment).split(";", 1)[0] ?? "";

/** In one letter case as well: what the loosest router compares. */
export const loosen = (segment: string): string => plain(segment).toLowerCase();

/** A segment that every router spells the same way. */
const isPlain = (segment: string): boolean => PLAIN.test(segment);
