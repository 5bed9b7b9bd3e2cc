/** Visits all rules of a tree in the order in which they decide, or those that a pattern may overlap. */
import { type PatternSegment } from "./pattern.ts";
import { coversMixed } from "./overlap.ts";
import { type Leaf, type TreeNode } from "./rule-tree.ts";
import { loosen } from "./segment.ts";

/** Visits the rules by their paths, the first that decides first. Rules of one path come in any order. */
export function* leavesInOrder(node: TreeNode): Iterable<Leaf> {
  yield* node.leaves.values();
  for (const child of childrenOf(node)) yield* leavesInOrder(child);
  for (const length of node.wildcard?.lengths ?? []) yield* leavesAtDepth(node.wildcard?.node, length);
}

/** Visits the rules that a path of a pattern may reach. A few of them have no path in common with it. */
export function* overlappingLeaves(
  node: TreeNode,
  segments: readonly PatternSegment[],
  index = 0,
): Iterable<Leaf> {
  const segment = segments[index];
  if (!segment) {
    yield* node.leaves.values();
    return;
  }
  if (segment.kind === "wildcard") {
    for (const child of childrenOf(node)) yield* allLeaves(child);
    yield* allLeaves(node.wildcard?.node);
    return;
  }
  for (const child of childrenFor(node, segment)) yield* overlappingLeaves(child, segments, index + 1);
  if (!node.wildcard) return;
  const isOpenEnded = segments.slice(index).some(({ kind }) => kind === "wildcard");
  if (isOpenEnded) yield* allLeaves(node.wildcard.node);
  else
    for (const length of node.wildcard.lengths)
      if (segments.length - length > index)
        yield* overlappingLeaves(node.wildcard.node, segments, segments.length - length);
}

/** The children for one segment, in the order in which they decide; without the wildcard. */
function* childrenOf(node: TreeNode): Iterable<TreeNode> {
  for (const edge of node.statics.values()) yield edge.node;
  for (const edge of node.mixed) yield edge.node;
  if (node.parameter) yield node.parameter;
}

function* childrenFor(node: TreeNode, segment: PatternSegment): Iterable<TreeNode> {
  if (segment.kind !== "static") {
    yield* childrenOf(node);
    return;
  }
  const edge = node.statics.get(loosen(segment.text));
  if (edge) yield edge.node;
  for (const mixed of node.mixed) if (coversMixed(mixed.parts, segment)) yield mixed.node;
  if (node.parameter) yield node.parameter;
}

function* allLeaves(node: TreeNode | undefined): Iterable<Leaf> {
  if (!node) return;
  yield* node.leaves.values();
  for (const child of childrenOf(node)) yield* allLeaves(child);
  yield* allLeaves(node.wildcard?.node);
}

function* leavesAtDepth(node: TreeNode | undefined, depth: number): Iterable<Leaf> {
  if (!node) return;
  if (depth === 0) {
    yield* node.leaves.values();
    return;
  }
  for (const child of childrenOf(node)) yield* leavesAtDepth(child, depth - 1);
}
