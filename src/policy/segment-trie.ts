import { endOfSegment, endWithout } from "../path.ts";
import { type MixedMatcher } from "./mixed-segment.ts";
import {
  childAt,
  childNamed,
  createNode,
  ensureChild,
  type MixedEdge,
  type Node,
  type Wildcard,
} from "./trie-node.ts";

/** One step of a pattern through the trie. */
export type TrieStep =
  | { readonly kind: "static"; readonly text: string }
  | { readonly kind: "mixed"; readonly identity: string; readonly match: MixedMatcher }
  | { readonly kind: "parameter" }
  | { readonly kind: "wildcard" };

/** Texts that segments of a path are taken for, by the place of the slash in front of each. */
export type Replacements = ReadonlyMap<number, string>;

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
    const start = slash + 1;
    const text = replacements?.get(slash);
    const next: Node<Leaf> | undefined =
      text === undefined ? childAt(node, path, start) : childNamed(node, text);
    const { mixed, parameter, wildcard }: Node<Leaf> = node;
    const hasOthers: boolean = (mixed ?? parameter ?? wildcard) !== undefined;
    if (!next && !hasOthers) return undefined;
    const end: number = next && text === undefined ? start + next.text.length : endOfSegment(path, start);
    // An empty segment is only ever the one behind a trailing slash; parameters and wildcards need text.
    const isFork: boolean = hasOthers && end > start;
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

function descend<Leaf>(node: Node<Leaf>, step: TrieStep, behind: number): Node<Leaf> {
  switch (step.kind) {
    case "static":
      return ensureChild(node, step.text);
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
