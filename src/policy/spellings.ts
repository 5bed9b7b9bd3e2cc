import { endOfSegment, endWithout, type Path } from "../path.ts";
import { type PathReading } from "../request.ts";
import { type Alternative } from "./containment.ts";
import { LooseTexts, plain } from "./loose-texts.ts";
import { type CompiledRule } from "./rule.ts";
import { type Replacements } from "./segment-trie.ts";

/**
 * One way to read a path: exactly as it is spelled, as the router is known to read it, or as some other router might.
 */
export interface Spelling {
  /** As the client spelled it, but for a trailing slash. */
  readonly path: string;
  /** The texts of the table that segments are taken for. */
  readonly replacements: Replacements | undefined;
  readonly kind: "exact" | "declared" | "foreign";
}

interface Choice {
  readonly text: string;
  readonly kind: Spelling["kind"];
}

/** A segment that may be taken for other texts. */
interface Place {
  readonly slash: number;
  readonly choices: readonly Choice[];
}

const SLASH = 0x2f;

const KINDS = ["exact", "declared", "foreign"] as const;

/** More than an honest path has: each of its segments would have to be written in another case than the table's. */
const MAX_SPELLINGS = 64;

/** The texts of a table: what the segments of a path might be taken for. */
export class Spellings {
  readonly #texts: LooseTexts;
  readonly #hasTrailingSlash: boolean;
  /** How many segments from either end a text of the table may stand at: those between are a wildcard's. */
  readonly #fromStart: number;
  readonly #fromEnd: number;

  constructor(rules: readonly CompiledRule[]) {
    const alternatives = rules.flatMap(({ pattern }) => pattern.alternatives);
    this.#fromStart = deepest(alternatives.map(lengthBeforeWildcard));
    // The wildcard is counted as well: a path may have an empty segment more, behind a trailing slash.
    this.#fromEnd = deepest(alternatives.map((one) => one.length - lengthBeforeWildcard(one)));
    const segments = alternatives.flat();
    const texts = new Set(segments.flatMap((segment) => (segment.kind === "static" ? [segment.text] : [])));
    // It stays among them: `/agents/;v=1` is `/agents/` to a router that cuts parameters off.
    this.#hasTrailingSlash = texts.has("");
    this.#texts = new LooseTexts([...texts]);
  }

  /** Whether the exact reading of a path is the only one. */
  isOnlyOne(path: Path): boolean {
    const { text } = path;
    // A character is compared sooner than a text.
    const hasSlash = text.charCodeAt(text.length - 1) === SLASH;
    return !hasSlash && !this.#hasTrailingSlash && this.#texts.hasNoneFor(path);
  }

  /** Every reading of a path that could lead to a rule, the exact one first; `undefined` for too many. */
  of(path: Path, reading: PathReading): readonly Spelling[] | undefined {
    const ends = this.#ends(path.text, reading);
    if (this.#texts.hasNoneFor(path)) return ends;
    const places = this.#places(path.text, reading, MAX_SPELLINGS / ends.length);
    return places
      ?.reduce(
        (spellings, place) =>
          spellings.flatMap((spelling) => [
            spelling,
            ...place.choices.map((choice) => choose(spelling, place.slash, choice)),
          ]),
        ends,
      )
      .toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  }

  /** The segments that have a choice; `undefined` where they can be combined in too many ways. */
  #places(path: string, reading: PathReading, limit: number): readonly Place[] | undefined {
    const places: Place[] = [];
    let count = 1;
    for (const [from, until] of this.#ranges(path)) {
      let slash = this.#texts.next(path, from, until);
      while (slash < until) {
        const end = endOfSegment(path, slash + 1);
        const choices = this.#choices(path.slice(slash + 1, end), reading);
        if (choices.length > 0) places.push({ slash, choices });
        count *= choices.length + 1;
        if (count > limit) return undefined;
        slash = this.#texts.next(path, end, until);
      }
    }
    return places;
  }

  /** The parts of a path, from slash to slash, that a text of the table may stand in. */
  #ranges(path: string): readonly (readonly [from: number, until: number])[] {
    let until = 0;
    for (let left = this.#fromStart; left > 0 && until < path.length; left -= 1)
      until = endOfSegment(path, until + 1);
    const from = Math.max(until, endWithout(path, this.#fromEnd));
    return [
      [0, until],
      [from, path.length],
    ];
  }

  /** With and without the trailing slash. */
  #ends(path: string, { ignoreTrailingSlash }: PathReading): readonly Spelling[] {
    const exact: Spelling = { path, replacements: undefined, kind: "exact" };
    const hasSlash = path.endsWith("/");
    if (ignoreTrailingSlash === false || path === "/" || !(hasSlash || this.#hasTrailingSlash))
      return [exact];
    const other = hasSlash ? path.slice(0, -1) : `${path}/`;
    return [
      exact,
      { path: other, replacements: undefined, kind: ignoreTrailingSlash ? "declared" : "foreign" },
    ];
  }

  /** The other texts of the table that a segment might be taken for. */
  #choices(segment: string, { ignoreCase }: PathReading): readonly Choice[] {
    return this.#texts.of(segment).flatMap((text): Choice[] => {
      if (text === segment) return [];
      const isCaseOnly = text.toLowerCase() === segment.toLowerCase();
      if (isCaseOnly && ignoreCase) return [{ text, kind: "declared" }];
      // A router that minds letter case may still decode, or take `%c3` for `%C3`.
      const isOther = ignoreCase === false && plain(text) !== plain(segment);
      return isOther ? [] : [{ text, kind: "foreign" }];
    });
  }
}

const deepest = (lengths: readonly number[]): number => lengths.reduce((most, one) => Math.max(most, one), 0);

/** All of it without one. */
function lengthBeforeWildcard(alternative: Alternative): number {
  const index = alternative.findIndex(({ kind }) => kind === "wildcard");
  return index < 0 ? alternative.length : index;
}

function choose(
  { path, replacements, kind }: Spelling,
  slash: number,
  { text, kind: own }: Choice,
): Spelling {
  const worst = KINDS.indexOf(own) > KINDS.indexOf(kind) ? own : kind;
  return { path, replacements: new Map([...(replacements ?? []), [slash, text]]), kind: worst };
}
