/** Finds the mixed segments of one place in the table that a segment of a path may match. */
import { type Spelled, type SpelledParts } from "./segment.ts";

/** What is looked up by its text. */
interface Edge {
  readonly texts: SpelledParts;
}

/** An edge, and its place in the order: the narrowest first. */
interface RankedEdge<Own extends Edge> {
  readonly edge: Own;
  readonly rank: number;
}

/**
 * An index of mixed segments by the text that they begin with, or else end with. Comparing a segment of a
 * path with each of hundreds of rules would take milliseconds.
 */
export class MixedEdges<Own extends Edge> {
  readonly #byStart = new Map<string, Set<RankedEdge<Own>>>();
  readonly #byEnd = new Map<string, Set<RankedEdge<Own>>>();
  readonly #startLengths: readonly number[];
  readonly #endLengths: readonly number[];
  /** Those that begin and end with a parameter. */
  readonly #others: readonly RankedEdge<Own>[];

  /** The narrowest first. */
  constructor(edges: readonly Own[]) {
    const others: RankedEdge<Own>[] = [];
    for (const [rank, edge] of edges.entries()) {
      const [start, end] = [edge.texts[0], edge.texts.at(-1)];
      if (start) addTo(this.#byStart, start, { edge, rank });
      else if (end) addTo(this.#byEnd, end, { edge, rank });
      else others.push({ edge, rank });
    }
    this.#others = others;
    this.#startLengths = lengthsOf(this.#byStart);
    this.#endLengths = lengthsOf(this.#byEnd);
  }

  /** Returns those that may match a segment, the narrowest first. */
  candidates(segment: Spelled): readonly Own[] {
    const found = new Set(this.#others);
    // A text that is the same in exact spelling is also the same in one letter case.
    this.#collect(segment.case, found);
    if (segment.decoded !== segment.case) this.#collect(segment.decoded, found);
    return [...found].sort((one, other) => one.rank - other.rank).map(({ edge }) => edge);
  }

  #collect(text: string, found: Set<RankedEdge<Own>>): void {
    for (const length of this.#startLengths)
      for (const ranked of this.#byStart.get(text.slice(0, length)) ?? []) found.add(ranked);
    for (const length of this.#endLengths)
      for (const ranked of this.#byEnd.get(text.slice(-length)) ?? []) found.add(ranked);
  }
}

function addTo<Ranked>(index: Map<string, Set<Ranked>>, text: Spelled, ranked: Ranked): void {
  for (const spelling of [text.case, text.decoded])
    index.set(spelling, (index.get(spelling) ?? new Set()).add(ranked));
}

const lengthsOf = (index: ReadonlyMap<string, unknown>): readonly number[] => [
  ...new Set([...index.keys()].map(({ length }) => length)),
];
