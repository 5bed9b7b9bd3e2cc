/** Finds the mixed segments of one place in the table that a segment of a path may match. */
import { type Spelled, type SpelledParts } from "./segment.ts";

/** What is looked up by its text. */
interface Edge {
  readonly texts: SpelledParts;
}

/** An edge, and its place in the order: the narrowest first. */
interface RankedEdge<EdgeType extends Edge> {
  readonly edge: EdgeType;
  readonly rank: number;
}

/**
 * An index of mixed segments by the text that they begin with, or else end with. Comparing a segment of a
 * path with each of hundreds of rules would take milliseconds.
 */
export class MixedEdges<EdgeType extends Edge> {
  readonly #byStart = new Map<string, Set<RankedEdge<EdgeType>>>();
  readonly #byEnd = new Map<string, Set<RankedEdge<EdgeType>>>();
  readonly #startLengths: readonly number[];
  readonly #endLengths: readonly number[];
  /** Those that begin and end with a parameter. */
  readonly #others: readonly RankedEdge<EdgeType>[];

  /** Takes the edges in their order, the narrowest first. */
  constructor(edges: readonly EdgeType[]) {
    const others: RankedEdge<EdgeType>[] = [];
    for (const [rank, edge] of edges.entries()) {
      const start = edge.texts[0];
      const end = edge.texts.at(-1);
      if (start) addToIndex(this.#byStart, start, { edge, rank });
      else if (end) addToIndex(this.#byEnd, end, { edge, rank });
      else others.push({ edge, rank });
    }
    this.#others = others;
    this.#startLengths = lengthsOf(this.#byStart);
    this.#endLengths = lengthsOf(this.#byEnd);
  }

  /** Returns those that may match a segment, the narrowest first. */
  candidates(segment: Spelled): readonly EdgeType[] {
    const candidates = new Set(this.#others);
    // A text that is the same in exact spelling is also the same in one letter case.
    this.#addCandidates(segment.case, candidates);
    if (segment.decoded !== segment.case) this.#addCandidates(segment.decoded, candidates);
    return [...candidates].sort((a, b) => a.rank - b.rank).map(({ edge }) => edge);
  }

  #addCandidates(text: string, candidates: Set<RankedEdge<EdgeType>>): void {
    for (const length of this.#startLengths)
      for (const ranked of this.#byStart.get(text.slice(0, length)) ?? []) candidates.add(ranked);
    for (const length of this.#endLengths)
      for (const ranked of this.#byEnd.get(text.slice(-length)) ?? []) candidates.add(ranked);
  }
}

function addToIndex<Ranked>(index: Map<string, Set<Ranked>>, text: Spelled, ranked: Ranked): void {
  for (const spelling of [text.case, text.decoded])
    index.set(spelling, (index.get(spelling) ?? new Set()).add(ranked));
}

const lengthsOf = (index: ReadonlyMap<string, unknown>): readonly number[] => [
  ...new Set([...index.keys()].map(({ length }) => length)),
];
