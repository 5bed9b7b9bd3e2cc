import { type PathSegments } from "../request.ts";

/** One step of a pattern through the trie, its texts already spelled as paths are. */
export type TrieStep =
  | { readonly kind: "static"; readonly text: string }
  | { readonly kind: "mixed"; readonly identity: string; readonly regexp: RegExp }
  | { readonly kind: "parameter" }
  | { readonly kind: "wildcard" };

/** What a walk reached, with the text of each parameter on the way, in order. */
export interface TrieMatch<Leaf> {
  readonly leaf: Leaf;
  readonly captures: readonly string[];
}

/** A captured text, or the segments that a wildcard took: joined once, at the end, to stay linear in the path. */
type Capture = string | { readonly start: number; readonly end: number };

interface Node<Leaf> {
  readonly statics: Map<string, Node<Leaf>>;
  readonly mixed: { readonly identity: string; readonly regexp: RegExp; readonly node: Node<Leaf> }[];
  parameter?: Node<Leaf>;
  wildcard?: Node<Leaf>;
  leaf?: Leaf;
}

/** A trie of path segments whose walk tries the narrowest step first, so that the first leaf is the narrowest. */
export class SegmentTrie<Leaf> {
  readonly #root = createNode<Leaf>();

  /** Adds a leaf; of two with the same steps the first stays. */
  insert(steps: readonly TrieStep[], leaf: Leaf): void {
    let node = this.#root;
    for (const step of steps) node = descend(node, step);
    node.leaf ??= leaf;
  }

  /** Walks `compared`, and captures from `path`, which has the same segments as the client spelled them. */
  find(compared: PathSegments, path: PathSegments): TrieMatch<Leaf> | undefined {
    return new Walk<Leaf>(compared, path).from(this.#root, 0, []);
  }
}

class Walk<Leaf> {
  readonly #compared: PathSegments;
  readonly #path: PathSegments;
  /** Where a walk behind an inner wildcard ended in vain: without it such patterns cost exponential time. */
  readonly #failed = new Map<Node<Leaf>, Set<number>>();

  constructor(compared: PathSegments, path: PathSegments) {
    this.#compared = compared;
    this.#path = path;
  }

  from(node: Node<Leaf>, index: number, captures: readonly Capture[]): TrieMatch<Leaf> | undefined {
    const compared = this.#compared[index];
    const segment = this.#path[index];
    if (compared === undefined || segment === undefined) {
      return node.leaf === undefined
        ? undefined
        : { leaf: node.leaf, captures: captures.map((one) => this.#text(one)) };
    }
    const next = node.statics.get(compared);
    const found = next && this.from(next, index + 1, captures);
    if (found) return found;
    // An empty segment is only ever the one behind a trailing slash; parameters and wildcards need text.
    if (segment === "") return undefined;
    return (
      this.#mixed(node, index, captures, compared, segment) ??
      (node.parameter && this.from(node.parameter, index + 1, [...captures, segment])) ??
      this.#wildcard(node.wildcard, index, captures)
    );
  }

  #mixed(node: Node<Leaf>, index: number, captures: readonly Capture[], compared: string, segment: string) {
    for (const edge of node.mixed) {
      const matched = edge.regexp.exec(segment) ?? edge.regexp.exec(compared);
      if (!matched) continue;
      const [, ...own] = matched;
      const found = this.from(edge.node, index + 1, [...captures, ...own]);
      if (found) return found;
    }
    return undefined;
  }

  #wildcard(
    node: Node<Leaf> | undefined,
    index: number,
    captures: readonly Capture[],
  ): TrieMatch<Leaf> | undefined {
    if (!node) return undefined;
    const isInner = node.statics.size > 0 || node.mixed.length > 0 || node.parameter !== undefined;
    for (let end = isInner ? index + 1 : this.#path.length; end <= this.#path.length; end += 1) {
      if (isInner && this.#hasFailed(node, end)) continue;
      const found = this.from(node, end, [...captures, { start: index, end }]);
      if (found) return found;
    }
    return undefined;
  }

  #text(capture: Capture): string {
    return typeof capture === "string" ? capture : this.#path.slice(capture.start, capture.end).join("/");
  }

  /** Whether this walk was here before; it goes on only as long as it failed. */
  #hasFailed(node: Node<Leaf>, index: number): boolean {
    const indexes = this.#failed.get(node) ?? new Set();
    if (indexes.has(index)) return true;
    this.#failed.set(node, indexes.add(index));
    return false;
  }
}

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
      const edge = { identity: step.identity, regexp: step.regexp, node: createNode<Leaf>() };
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
function narrowerFirst(a: string, b: string): number {
  return b.length - a.length || (a < b ? -1 : 1);
}
