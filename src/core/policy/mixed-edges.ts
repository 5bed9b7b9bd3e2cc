/** Finds the mixed segments, at one place in the table, that a segment of a path may match. */
import type { Spelled, SpelledParts } from "./segment.ts";

/**
 * An index of mixed segments by the string that they begin with, or else end with. Without it, comparing a
 * segment of a path with hundreds of rules would take milliseconds.
 */
export class MixedEdges<Edge extends { readonly texts: SpelledParts }> {
  readonly #edges: readonly Edge[];
  readonly #byStart = new Map<string, Set<Edge>>();
  readonly #byEnd = new Map<string, Set<Edge>>();
  readonly #startLengths: ReadonlySet<number>;
  readonly #endLengths: ReadonlySet<number>;

  /** Takes the edges in their order, the narrowest first. */
  constructor(edges: readonly Edge[]) {
    this.#edges = edges;
    for (const edge of edges) {
      const start = edge.texts[0];
      const end = edge.texts.at(-1);
      if (start) addToIndex(this.#byStart, start, edge);
      else addToIndex(this.#byEnd, end, edge);
    }
    this.#startLengths = lengthsOf(this.#byStart);
    this.#endLengths = lengthsOf(this.#byEnd);
  }

  /** Returns the mixed segments that may match a segment, the narrowest first. */
  candidates(segment: Spelled): readonly Edge[] {
    const candidates = new Set<Edge>();
    // Strings that are equal in exact spelling are also equal in one letter case.
    for (const text of new Set([segment.case, segment.decoded])) {
      for (const length of this.#startLengths) addAll(candidates, this.#byStart.get(text.slice(0, length)));
      for (const length of this.#endLengths)
        addAll(candidates, this.#byEnd.get(text.slice(text.length - length)));
    }
    return this.#edges.filter((edge) => candidates.has(edge));
  }
}

/** Adds an edge by all spellings of a string, which is empty if parameters are at both ends. */
function addToIndex<Edge>(index: Map<string, Set<Edge>>, text: Spelled | undefined, edge: Edge): void {
  for (const spelling of [text?.case ?? "", text?.decoded ?? ""])
    index.set(spelling, (index.get(spelling) ?? new Set()).add(edge));
}

function addAll<Edge>(candidates: Set<Edge>, edges: ReadonlySet<Edge> = new Set()): void {
  for (const edge of edges) candidates.add(edge);
}

const lengthsOf = (index: ReadonlyMap<string, unknown>): ReadonlySet<number> =>
  new Set([...index.keys()].map(({ length }) => length));
