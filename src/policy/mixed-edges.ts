/** Finds the mixed segments of one place in the table that a segment of a path may match. */
import { type Spelled, type SpelledParts } from "./segment.ts";

/** What is looked up by its text. */
interface Edge {
  readonly texts: SpelledParts;
}

/**
 * An index of mixed segments by the text that they begin with, or else end with. Comparing a segment of a
 * path with each of hundreds of rules would take milliseconds.
 */
export class MixedEdges<Own extends Edge> {
  readonly #order: ReadonlyMap<Own, number>;
  readonly #byStart = new Map<string, Set<Own>>();
  readonly #byEnd = new Map<string, Set<Own>>();
  readonly #startLengths: readonly number[];
  readonly #endLengths: readonly number[];
  /** Those that begin and end with a parameter. */
  readonly #others: readonly Own[];

  /** The narrowest first. */
  constructor(edges: readonly Own[]) {
    this.#order = new Map(edges.map((edge, index) => [edge, index]));
    const others: Own[] = [];
    for (const edge of edges) {
      const [start, end] = [edge.texts[0], edge.texts.at(-1)];
      if (start) addTo(this.#byStart, start, edge);
      else if (end) addTo(this.#byEnd, end, edge);
      else others.push(edge);
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
    const rank = (edge: Own) => this.#order.get(edge) ?? 0;
    return found.size > this.#others.length
      ? [...found].sort((one, other) => rank(one) - rank(other))
      : this.#others;
  }

  #collect(text: string, found: Set<Own>): void {
    for (const length of this.#startLengths)
      for (const edge of this.#byStart.get(text.slice(0, length)) ?? []) found.add(edge);
    for (const length of this.#endLengths)
      for (const edge of this.#byEnd.get(text.slice(-length)) ?? []) found.add(edge);
  }
}

function addTo<Own>(index: Map<string, Set<Own>>, text: Spelled, edge: Own): void {
  for (const spelling of [text.case, text.decoded])
    index.set(spelling, (index.get(spelling) ?? new Set()).add(edge));
}

const lengthsOf = (index: ReadonlyMap<string, unknown>): readonly number[] => [
  ...new Set([...index.keys()].map(({ length }) => length)),
];
