/**
 * A trie of path segments in one array of numbers. The nodes of a route lie side by side there: a walk through a table of
 * thousands, which no processor keeps at hand as a whole, waits for memory a few times and not at each object.
 */
import { type MixedMatcher } from "./mixed-segment.ts";
import { growTrie, type Node, type TrieEntry } from "./trie-node.ts";

export interface PackedTrie<Leaf> {
  /** The nodes, and behind one with many children the table that finds them. */
  readonly numbers: Int32Array;
  /** The characters of all texts, each text once. */
  readonly texts: Uint16Array;
  readonly forks: readonly Fork[];
  readonly leaves: readonly (Leaf | undefined)[];
}

/** The ways on that few nodes have. */
export interface Fork {
  readonly mixed: readonly { readonly match: MixedMatcher; readonly node: number }[];
  readonly parameter: number;
  readonly wildcard: { readonly node: number; readonly lengths: readonly number[] } | undefined;
}

/** No node, no fork, no leaf. */
export const NONE = 0;
export const ROOT = 1;

export const NO_FORK: Fork = { mixed: [], parameter: NONE, wildcard: undefined };

/** What the numbers of a node are. First where the static text that leads to it begins, and how long that is. */
const TEXT = 0;
export const LENGTH = 1;
/** Its sibling with another static text. */
const NEXT = 2;
/** Its first child with a static text; below zero where the table of its many children is. */
const CHILDREN = 3;
/** The child behind a parameter; below zero where the fork with all ways but the static ones is. */
export const OTHERS = 4;
export const LEAF = 5;

/** So many texts are compared one by one sooner than one is hashed and looked up. */
const FEW = 4;

const SLASH = 0x2f;

export function packTrie<Leaf>(entries: readonly TrieEntry<Leaf>[]): PackedTrie<Leaf> {
  const numbers = [NONE];
  const texts: number[] = [];
  const forks: Fork[] = [NO_FORK];
  const leaves: (Leaf | undefined)[] = [undefined];
  const places = new Map<string, number>();
  add(growTrie(entries), "");
  return { numbers: Int32Array.from(numbers), texts: Uint16Array.from(texts), forks, leaves };

  function add(node: Node<Leaf>, text: string): number {
    const at = numbers.length;
    numbers.push(placeOf(text), text.length, NONE, NONE, NONE, NONE);
    if (node.leaf !== undefined) numbers[at + LEAF] = leaves.push(node.leaf) - 1;
    addChildren(node, at);
    if (node.mixed.length > 0 || node.wildcard) numbers[at + OTHERS] = 1 - forks.push(forkOf(node));
    else if (node.parameter) numbers[at + OTHERS] = add(node.parameter, "");
    return at;
  }

  function addChildren({ statics }: Node<Leaf>, parent: number): void {
    let table: number | undefined;
    let mask = 0;
    if (statics.size > FEW) {
      table = numbers.length;
      // At least twice as many places as texts.
      mask = 2 ** Math.ceil(Math.log2(statics.size) + 1) - 1;
      numbers[parent + CHILDREN] = -table;
      numbers.push(mask);
      for (let place = 0; place <= mask; place += 1) numbers.push(NONE);
    }
    for (const [text, node] of statics) {
      const child = add(node, text);
      const place = table === undefined ? parent + CHILDREN : table + 1 + (hashAt(text, 0) & mask);
      numbers[child + NEXT] = numbers[place] ?? NONE;
      numbers[place] = child;
    }
  }

  function forkOf({ mixed, parameter, wildcard }: Node<Leaf>): Fork {
    return {
      mixed: mixed.map(({ match, node }) => ({ match, node: add(node, "") })),
      parameter: parameter ? add(parameter, "") : NONE,
      wildcard: wildcard && { node: add(wildcard.node, ""), lengths: wildcard.lengths },
    };
  }

  function placeOf(text: string): number {
    const known = places.get(text);
    if (known !== undefined) return known;
    const place = texts.length;
    for (let index = 0; index < text.length; index += 1) texts.push(text.charCodeAt(index));
    places.set(text, place);
    return place;
  }
}

/** The child of a node for the segment of a path that begins at `start`. */
export function childAt(
  { numbers, texts }: PackedTrie<unknown>,
  node: number,
  path: string,
  start: number,
): number {
  let child = numbers[node + CHILDREN] ?? NONE;
  if (child < 0) {
    const mask = numbers[-child] ?? 0;
    child = numbers[1 - child + (hashAt(path, start) & mask)] ?? NONE;
  }
  while (
    child !== NONE &&
    !isSegmentAt(path, start, texts, numbers[child + TEXT] ?? 0, numbers[child + LENGTH] ?? 0)
  )
    child = numbers[child + NEXT] ?? NONE;
  return child;
}

/** From the end: where texts that stand side by side differ, they differ there. */
function isSegmentAt(path: string, start: number, texts: Uint16Array, text: number, length: number): boolean {
  const end = start + length;
  if (end !== path.length && path.charCodeAt(end) !== SLASH) return false;
  for (let index = length - 1; index >= 0; index -= 1)
    if (path.charCodeAt(start + index) !== texts[text + index]) return false;
  return true;
}

/** FNV-1a of the segment that begins at `start`, without cutting it from the path. */
function hashAt(path: string, start: number): number {
  let hash = 0;
  for (let index = start; index < path.length; index += 1) {
    const code = path.charCodeAt(index);
    if (code === SLASH) break;
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  return hash;
}
