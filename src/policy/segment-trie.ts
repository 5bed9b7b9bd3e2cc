import { endOfSegment, endWithout } from "../path.ts";
import { type MixedMatcher } from "./mixed-segment.ts";

/** One step of a pattern through the trie. */
export type TrieStep =
  | { readonly kind: "static"; readonly text: string }
  | { readonly kind: "mixed"; readonly identity: string; readonly match: MixedMatcher }
  | { readonly kind: "parameter" }
  | { readonly kind: "wildcard" };

/** Texts that segments of a path are taken for, by the place of the slash in front of each. */
export type Replacements = ReadonlyMap<number, string>;

interface Node<Leaf> {
  statics: Map<string, Node<Leaf>> | undefined;
  mixed: MixedEdge<Leaf>[] | undefined;
  parameter: Node<Leaf> | undefined;
  wildcard: Wildcard<Leaf> | undefined;
  leaf: Leaf | undefined;
}

interface MixedEdge<Leaf> {
  readonly identity: string;
  readonly match: MixedMatcher;
  readonly node: Node<Leaf>;
}

interface Wildcard<Leaf> {
  readonly node: Node<Leaf>;
  /** How many segments the patterns have behind it, the most first. */
  lengths: readonly number[];
}

/** A trie of path segments whose walk tries the narrowest step first, so that the first leaf is the narrowest. */
export class SegmentTrie<Leaf> {
  readonly #root = createNode<Leaf>();

  /** Adds a leaf; of two with the same steps the first stays. At most one step is a wildcard. */
  insert(steps: readonly TrieStep[], leaf: Leaf): void {
    let node = this.#root;
    for (const [index, step] of steps.entries()) node = descend(node, step, steps.length - index - 1);
    node.leaf ??= leaf;
  }

  /** Walks a path to the leaf that takes it the narrowest way. */
  find(path: string, replacements?: Replacements): Leaf | undefined {
    return walk(this.#root, path === "/" ? 1 : 0, path, replacements);
  }
}

/**
 * Walks on from the slash in front of a segment. Of a long path it looks at few segments: at most one for each step of the
 * table from the left, and those that stand behind a wildcard. The last way on is not come back from, so it is no call.
 */
function walk<Leaf>(
  from: Node<Leaf>,
  at: number,
  path: string,
  replacements: Replacements | undefined,
): Leaf | undefined {
  let node: Node<Leaf> | undefined = from;
  for (let slash = at; node && slash < path.length;) {
    const end = endOfSegment(path, slash + 1);
    const next: Node<Leaf> | undefined = node.statics?.get(
      replacements?.get(slash) ?? path.slice(slash + 1, end),
    );
    const { mixed, parameter, wildcard }: Node<Leaf> = node;
    // An empty segment is only ever the one behind a trailing slash; parameters and wildcards need text.
    const isFork: boolean = (mixed ?? parameter ?? wildcard) !== undefined && end > slash + 1;
    if (isFork) {
      const narrower =
        (next && walk(next, end, path, replacements)) ??
        (mixed && walkMixed(mixed, slash, end, path, replacements)) ??
        (parameter && wildcard && walk(parameter, end, path, replacements));
      if (narrower !== undefined) return narrower;
      if (wildcard) return walkWildcard(wildcard, end, path, replacements);
    }
    node = isFork ? parameter : next;
    slash = end;
  }
  return node?.leaf;
}

function walkMixed<Leaf>(
  edges: readonly MixedEdge<Leaf>[],
  slash: number,
  end: number,
  path: string,
  replacements: Replacements | undefined,
): Leaf | undefined {
  const segment = path.slice(slash + 1, end);
  for (const { match, node } of edges) {
    const found = match(segment) && walk(node, end, path, replacements);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * A wildcard takes one segment or more; where patterns go on behind it, as few as it can. It ends only where the path has
 * as many segments left as one of those patterns.
 */
function walkWildcard<Leaf>(
  { node, lengths }: Wildcard<Leaf>,
  firstEnd: number,
  path: string,
  replacements: Replacements | undefined,
): Leaf | undefined {
  for (const length of lengths) {
    const end = endWithout(path, length);
    const found = end >= firstEnd ? walk(node, end, path, replacements) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

const createNode = <Leaf>(): Node<Leaf> => ({
  statics: undefined,
  mixed: undefined,
  parameter: undefined,
  wildcard: undefined,
  leaf: undefined,
});

function descend<Leaf>(node: Node<Leaf>, step: TrieStep, behind: number): Node<Leaf> {
  switch (step.kind) {
    case "static": {
      const statics = (node.statics ??= new Map<string, Node<Leaf>>());
      const known = statics.get(step.text) ?? createNode();
      statics.set(step.text, known);
      return known;
    }
    case "mixed": {
      const edges = (node.mixed ??= []);
      const known = edges.find((edge) => edge.identity === step.identity);
      if (known) return known.node;
      const edge = { identity: step.identity, match: step.match, node: createNode<Leaf>() };
      edges.push(edge);
      edges.sort((a, b) => narrowerFirst(a.identity, b.identity));
      return edge.node;
    }
    case "parameter":
      return (node.parameter ??= createNode());
    case "wildcard": {
      const wildcard = (node.wildcard ??= { node: createNode(), lengths: [] });
      wildcard.lengths = [...new Set([...wildcard.lengths, behind])].sort((a, b) => b - a);
      return wildcard.node;
    }
  }
}

/** Of two mixed segments the one with more text is the narrower; the order never depends on who was written first. */
export function narrowerFirst(a: string, b: string): number {
  return b.length - a.length || (a < b ? -1 : Number(a > b));
}
