import { type MixedMatcher } from "./mixed-segment.ts";

/** One step of a pattern through the trie. */
export type TrieStep =
  | { readonly kind: "static"; readonly text: string }
  | { readonly kind: "mixed"; readonly identity: string; readonly match: MixedMatcher }
  | { readonly kind: "parameter" }
  | { readonly kind: "wildcard" };

/** What is found at the end of its steps. */
export interface TrieEntry<Leaf> {
  readonly steps: readonly TrieStep[];
  readonly leaf: Leaf;
}

/** A node of a trie of path segments while it grows. */
export interface Node<Leaf> {
  readonly statics: Map<string, Node<Leaf>>;
  readonly mixed: MixedEdge<Leaf>[];
  parameter: Node<Leaf> | undefined;
  wildcard: Wildcard<Leaf> | undefined;
  leaf: Leaf | undefined;
}

export interface MixedEdge<Leaf> {
  readonly identity: string;
  readonly match: MixedMatcher;
  readonly node: Node<Leaf>;
}

export interface Wildcard<Leaf> {
  readonly node: Node<Leaf>;
  /** How many segments the patterns have behind it, the most first. */
  lengths: readonly number[];
}

/** The root of a trie with a leaf for each entry; of two with the same steps the first stays. */
export function growTrie<Leaf>(entries: readonly TrieEntry<Leaf>[]): Node<Leaf> {
  const root = createNode<Leaf>();
  for (const { steps, leaf } of entries) {
    let node = root;
    for (const [index, step] of steps.entries()) node = descend(node, step, steps.length - index - 1);
    node.leaf ??= leaf;
  }
  return root;
}

const createNode = <Leaf>(): Node<Leaf> => ({
  statics: new Map(),
  mixed: [],
  parameter: undefined,
  wildcard: undefined,
  leaf: undefined,
});

function descend<Leaf>(node: Node<Leaf>, step: TrieStep, behind: number): Node<Leaf> {
  switch (step.kind) {
    case "static": {
      const child = node.statics.get(step.text) ?? createNode();
      node.statics.set(step.text, child);
      return child;
    }
    case "mixed": {
      const known = node.mixed.find((edge) => edge.identity === step.identity);
      if (known) return known.node;
      const edge = { identity: step.identity, match: step.match, node: createNode<Leaf>() };
      node.mixed.push(edge);
      node.mixed.sort((a, b) => narrowerFirst(a.identity, b.identity));
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
