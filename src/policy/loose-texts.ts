import { decodeOrKeep, endOfSegment, octetAt, type Path } from "../path.ts";

/** Decoded, and without a parameter of the segment (`;v=1`). */
export const plain = (segment: string): string => decodeOrKeep(segment).replace(/;.*/s, "");

/** In one letter case as well: what the loosest router compares. */
export const loosen = (segment: string): string => plain(segment).toLowerCase();

/** A text that every router spells the same way. */
const isPlain = (text: string): boolean => !/[%;A-Z]/.test(text);

/**
 * The static texts of a table by their loosest spelling. A path may have thousands of segments of which none is such a text:
 * a hash of each, taken without cutting the path, tells most of them apart.
 */
export class LooseTexts {
  readonly #texts = new Map<string, readonly string[]>();
  /** Marked at the hash of each text, the plain ones apart from the others. */
  readonly #plainMarks: Uint8Array;
  readonly #otherMarks: Uint8Array;
  readonly #arePlain: boolean;
  readonly #longest: number;

  constructor(texts: readonly string[]) {
    this.#arePlain = texts.every(isPlain);
    this.#longest = texts.reduce((longest, text) => Math.max(longest, loosen(text).length), 0);
    const places = 2 ** Math.ceil(Math.log2(texts.length + 1) + 5);
    this.#plainMarks = new Uint8Array(places);
    this.#otherMarks = new Uint8Array(places);
    for (const text of texts) {
      const loose = loosen(text);
      this.#texts.set(loose, [...(this.#texts.get(loose) ?? []), text]);
      const marks = isPlain(text) ? this.#plainMarks : this.#otherMarks;
      marks[hashOf(loose) & (places - 1)] = 1;
    }
  }

  /** Whether no segment of a path can be taken for a text that it is not. */
  hasNoneFor(path: Path): boolean {
    return path.isPlain && this.#arePlain;
  }

  /**
   * The slash in front of the next segment, from one slash on and up to another or the end, that may be taken for another
   * text; where it ended for none.
   */
  next(path: string, from: number, until = path.length): number {
    let slash = from;
    let hash = 0;
    let length = 0;
    let isPlain = true;
    let hasEnded = false;
    for (let index = from + 1; index <= until; index += 1) {
      let code = index < path.length ? path.charCodeAt(index) : SLASH;
      if (code === SLASH) {
        const place = hash & (this.#otherMarks.length - 1);
        if (this.#otherMarks[place] === 1 || (!isPlain && this.#plainMarks[place] === 1)) return slash;
        slash = index;
        hash = length = 0;
        isPlain = true;
        hasEnded = false;
        continue;
      }
      if (code === PERCENT) {
        isPlain = false;
        code = octetAt(path, index);
        index += 2;
      }
      if (code === SEMICOLON) hasEnded = true;
      if (hasEnded || isCapital(code)) isPlain = false;
      if (hasEnded) continue;
      hash = addToHash(hash, code);
      if (FOLDED[code] !== 0) length += 1;
      if (length <= this.#longest) continue;
      // No text is so long, whatever follows.
      index = slash = endOfSegment(path, index);
      hash = length = 0;
      isPlain = true;
    }
    return until;
  }

  /** The texts that a segment might be taken for; none for the empty one behind a trailing slash. */
  of(segment: string): readonly string[] {
    if (segment === "") return [];
    return this.#texts.get(loosen(segment)) ?? [];
  }
}

const SLASH = 0x2f;
const PERCENT = 0x25;
const SEMICOLON = 0x3b;

/**
 * What a character adds to a hash, whatever its letter case. `i` and `k` add nothing, as what is not ASCII does not: they are
 * all of ASCII that other characters (U+0130, U+212A) may hold in lower case.
 */
const FOLDED = Uint8Array.from({ length: 256 }, (_, code) => {
  const letter = String.fromCharCode(code).toLowerCase();
  return code > 0x7f || letter === "i" || letter === "k" ? 0 : letter.charCodeAt(0);
});

/** FNV-1a. */
function addToHash(hash: number, code: number): number {
  const folded = FOLDED[code] ?? 0;
  return folded === 0 ? hash : Math.imul(hash ^ folded, 0x01000193);
}

function hashOf(loose: string): number {
  let hash = 0;
  for (let index = 0; index < loose.length; index += 1) hash = addToHash(hash, loose.charCodeAt(index));
  return hash;
}

const isCapital = (code: number): boolean => code >= 0x41 && code <= 0x5a;
