import { endOfSegment, endWithout } from "../path.ts";
import {
  childAt,
  type Fork,
  LEAF,
  LENGTH,
  NONE,
  NO_FORK,
  OTHERS,
  type PackedTrie,
  packTrie,
  ROOT,
} from "./packed-trie.ts";
import { type TrieEntry, type TrieStep } from "./trie-node.ts";

export { narrowerFirst, type TrieStep } from "./trie-node.ts";

/** Texts that segments of a path are taken for, by the place of the slash in front of each. */
export type Replacements = ReadonlyMap<number, string>;

/** A trie of path segments whose walk tries the narrowest step first, so that the first leaf is the narrowest. */
export class SegmentTrie<Leaf> {
  readonly #entries: TrieEntry<Leaf>[] = [];
  #packed: PackedTrie<Leaf> | undefined;

  /** Adds a leaf; of two with the same steps the first stays. At most one step is a wildcard. */
  insert(steps: readonly TrieStep[], leaf: Leaf): void {
    this.#entries.push({ steps, leaf });
    this.#packed = undefined;
  }

  /** Gets ready for walks, which the first of them would do else. */
  pack(): PackedTrie<Leaf> {
    return (this.#packed ??= packTrie(this.#entries));
  }

  /** Walks a path to the leaf that takes it the narrowest way. */
  find(path: string, replacements?: Replacements): Leaf | undefined {
    return walk(this.#packed ?? this.pack(), ROOT, path === "/" ? 1 : 0, path, replacements);
  }
}

/**
 * Walks on from the slash in front of a segment. Of a long path it looks at few segments: at most one for each step of the
 * table from the left, and those that stand behind a wildcard. The last way on is not come back from, so it is no call.
 */
function walk<Leaf>(
  trie: PackedTrie<Leaf>,
  from: number,
  at: number,
  path: string,
  replacements: Replacements | undefined,
): Leaf | undefined {
  const { numbers } = trie;
  let node = from;
  for (let slash = at; slash < path.length;) {
    const start = slash + 1;
    const text = replacements?.get(slash);
    const next = text === undefined ? childAt(trie, node, path, start) : childAt(trie, node, text, 0);
    const others = numbers[node + OTHERS] ?? NONE;
    if (next === NONE && others === NONE) return undefined;
    const end =
      next !== NONE && text === undefined ? start + (numbers[next + LENGTH] ?? 0) : endOfSegment(path, start);
    // An empty segment is only ever the one behind a trailing slash; parameters and wildcards need text.
    if (others === NONE || end === start) node = next;
    else if (next === NONE && others > NONE) node = others;
    else return walkFork(trie, next, others, start, end, path, replacements);
    if (node === NONE) return undefined;
    slash = end;
  }
  return trie.leaves[numbers[node + LEAF] ?? NONE];
}

/** Where more ways than one lead on. */
function walkFork<Leaf>(
  trie: PackedTrie<Leaf>,
  next: number,
  others: number,
  start: number,
  end: number,
  path: string,
  replacements: Replacements | undefined,
): Leaf | undefined {
  const found = next === NONE ? undefined : walk(trie, next, end, path, replacements);
  if (found !== undefined) return found;
  if (others > NONE) return walk(trie, others, end, path, replacements);
  const { mixed, parameter, wildcard } = trie.forks[-others] ?? NO_FORK;
  const segment = mixed.length > 0 ? path.slice(start, end) : "";
  for (const { match, node } of mixed) {
    const narrower = match(segment) && walk(trie, node, end, path, replacements);
    if (narrower !== undefined) return narrower;
  }
  const narrower = parameter === NONE ? undefined : walk(trie, parameter, end, path, replacements);
  return narrower ?? (wildcard && walkWildcard(trie, wildcard, end, path, replacements));
}

/**
 * A wildcard takes one segment or more; where patterns go on behind it, as few as it can. It ends only where the path has
 * as many segments left as one of those patterns.
 */
function walkWildcard<Leaf>(
  trie: PackedTrie<Leaf>,
  { node, lengths }: NonNullable<Fork["wildcard"]>,
  firstEnd: number,
  path: string,
  replacements: Replacements | undefined,
): Leaf | undefined {
  for (const length of lengths) {
    const end = endWithout(path, length);
    const found = end >= firstEnd ? walk(trie, node, end, path, replacements) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
