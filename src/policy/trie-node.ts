/** A node of a trie of path segments, and its children by text. */
import { endOfSegment } from "../path.ts";
import { type MixedMatcher } from "./mixed-segment.ts";

export interface Node<Leaf> {
  /** The text of the step that leads here, where that is a static one. */
  readonly text: string;
  /** The first child by text; each knows the next. Of more than a few `many` has all of them as well. */
  first: Node<Leaf> | undefined;
  next: Node<Leaf> | undefined;
  many: Map<string, Node<Leaf>> | undefined;
  mixed: MixedEdge<Leaf>[] | undefined;
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

/** So many texts are compared one by one sooner than one is cut from the path, hashed and looked up. */
const FEW = 4;

const SLASH = 0x2f;

export const createNode = <Leaf>(text = ""): Node<Leaf> => ({
  text,
  first: undefined,
  next: undefined,
  many: undefined,
  mixed: undefined,
  parameter: undefined,
  wildcard: undefined,
  leaf: undefined,
});

/** The child for a text, made where there is none. */
export function ensureChild<Leaf>(node: Node<Leaf>, text: string): Node<Leaf> {
  const known = childNamed(node, text);
  if (known) return known;
  const child = createNode<Leaf>(text);
  child.next = node.first;
  node.first = child;
  const children = node.many ? [child] : childrenOf(node);
  if (!node.many && children.length > FEW) node.many = new Map();
  for (const one of children) node.many?.set(one.text, one);
  return child;
}

export function childNamed<Leaf>(node: Node<Leaf>, text: string): Node<Leaf> | undefined {
  return node.many ? node.many.get(text) : childrenOf(node).find((child) => child.text === text);
}

function childrenOf<Leaf>(node: Node<Leaf>): readonly Node<Leaf>[] {
  const children: Node<Leaf>[] = [];
  for (let child = node.first; child; child = child.next) children.push(child);
  return children;
}

/** The child for the segment of a path that begins at `start`. */
export function childAt<Leaf>(node: Node<Leaf>, path: string, start: number): Node<Leaf> | undefined {
  if (node.many) return node.many.get(path.slice(start, endOfSegment(path, start)));
  let child = node.first;
  while (child && !isSegmentAt(path, start, child.text)) child = child.next;
  return child;
}

/** From the end: where texts that stand side by side differ, they differ there. */
function isSegmentAt(path: string, start: number, text: string): boolean {
  const end = start + text.length;
  if (end !== path.length && path.charCodeAt(end) !== SLASH) return false;
  for (let index = text.length - 1; index >= 0; index -= 1)
    if (path.charCodeAt(start + index) !== text.charCodeAt(index)) return false;
  return true;
}
