import { type PathSegments } from "../request.ts";
import { type MixedMatcher } from "./mixed-segment.ts";

/** One step of a pattern through the trie. */
export type TrieStep =
  | { readonly kind: "static"; readonly text: string }
  | { readonly kind: "mixed"; readonly identity: string; readonly match: MixedMatcher }
  | { readonly kind: "parameter" }
  | { readonly kind: "wildcard" };

/** What a walk reached, with the text of each parameter on the way, in order. */
export interface TrieMatch<Leaf> {
  readonly leaf: Leaf;
  readonly captures: readonly string[];
  /** Whether every router would capture the same. */
  readonly isCertain: boolean;
}

/** A captured text, or the segments that a wildcard took: joined once, at the end, to stay linear in the path. */
interface Capture {
  readonly text: string | { readonly start: number; readonly end: number };
  readonly isCertain: boolean;
}

/** What the walk has taken on its way; a way that leads nowhere takes back what it added. */
type Taken = Capture[];

interface Node<Leaf> {
  readonly statics: Map<string, Node<Leaf>>;
  readonly mixed: { readonly identity: string; readonly match: MixedMatcher; readonly node: Node<Leaf> }[];
  parameter?: Node<Leaf>;
  wildcard?: Node<Leaf>;
  leaf?: Leaf;
}

/** A trie of path segments whose walk tries the narrowest step first, so that the first leaf is the narrowest. */
export class SegmentTrie<Leaf> {
  readonly #root = createNode<Leaf>();

  /** Adds a leaf; of two with the same steps the first stays. At most one step is a wildcard. */
  insert(steps: readonly TrieStep[], leaf: Leaf): void {
    let node = this.#root;
    for (const step of steps) node = descend(node, step);
    node.leaf ??= leaf;
  }

  /** Walks `compared`, and captures from `path`, which has the same segments as the client spelled them. */
  find(compared: PathSegments, path: PathSegments): TrieMatch<Leaf> | undefined {
    return walk(this.#root, 0, [], compared, path);
  }
}

function walk<Leaf>(
  node: Node<Leaf>,
  index: number,
  taken: Taken,
  compared: PathSegments,
  path: PathSegments,
): TrieMatch<Leaf> | undefined {
  const text = compared[index];
  const segment = path[index];
  if (text === undefined || segment === undefined) {
    return node.leaf === undefined ? undefined : toMatch(node.leaf, taken, path);
  }
  const next = node.statics.get(text);
  const found = next && walk(next, index + 1, taken, compared, path);
  // An empty segment is only ever the one behind a trailing slash; parameters and wildcards need text.
  if (found || segment === "") return found;
  const length = taken.length;
  for (const edge of node.mixed) {
    const mixed = edge.match(segment);
    if (!mixed) continue;
    const { captures, isCertain } = mixed;
    for (const capture of captures) taken.push({ text: capture, isCertain });
    const behind = walk(edge.node, index + 1, taken, compared, path);
    if (behind) return behind;
    taken.length = length;
  }
  if (node.parameter) {
    taken.push({ text: segment, isCertain: true });
    const behind = walk(node.parameter, index + 1, taken, compared, path);
    if (behind) return behind;
    taken.length = length;
  }
  return node.wildcard && walkWildcard(node.wildcard, index, taken, compared, path);
}

/** A wildcard takes one segment or more; where the pattern goes on behind it, as few as it can. */
function walkWildcard<Leaf>(
  wildcard: Node<Leaf>,
  start: number,
  taken: Taken,
  compared: PathSegments,
  path: PathSegments,
): TrieMatch<Leaf> | undefined {
  const length = taken.length;
  const isInner = wildcard.statics.size > 0 || wildcard.mixed.length > 0 || wildcard.parameter !== undefined;
  for (let end = isInner ? start + 1 : path.length; end <= path.length; end += 1) {
    taken.push({ text: { start, end }, isCertain: true });
    const last = walk(wildcard, end, taken, compared, path);
    if (last) return last;
    taken.length = length;
  }
  return undefined;
}

const toMatch = <Leaf>(leaf: Leaf, taken: readonly Capture[], path: PathSegments): TrieMatch<Leaf> => ({
  leaf,
  captures: taken.map(({ text }) =>
    typeof text === "string" ? text : path.slice(text.start, text.end).join("/"),
  ),
  isCertain: taken.every(({ isCertain }) => isCertain),
});

const createNode = <Leaf>(): Node<Leaf> => ({ statics: new Map(), mixed: [] });

function descend<Leaf>(node: Node<Leaf>, step: TrieStep): Node<Leaf> {
  switch (step.kind) {
    case "static": {
      const known = node.statics.get(step.text) ?? createNode();
      node.statics.set(step.text, known);
      return known;
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
    case "wildcard":
      return (node.wildcard ??= createNode());
  }
}

/** Of two mixed segments the one with more text is the narrower; the order never depends on who was written first. */
export function narrowerFirst(a: string, b: string): number {
  return b.length - a.length || (a < b ? -1 : Number(a > b));
}
