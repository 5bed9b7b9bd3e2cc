/** Visits all rules of a tree in the order in which they decide, or the rules that a pattern may overlap. */
import type { PatternSegment } from "./pattern.ts";
import { coversMixed } from "./overlap.ts";
import type { Leaf, TreeNode } from "./rule-tree.ts";
import { loosen } from "./segment.ts";

/** Visits the rules in the order in which their paths decide. Rules with the same path come in any order. */
export function* leavesInOrder(node: TreeNode): Iterable<Leaf> {
  yield* node.leaves.values();
  for (const child of childrenInOrder(node)) yield* leavesInOrder(child);
  if (!node.wildcard) return;
  for (const length of node.wildcard.lengths) yield* leavesAtDepth(node.wildcard.node, length);
}

/**
 * Visits the rules that a path of a pattern may reach, from the segment at `index` on. It may also visit a
 * few rules that have no path in common with the pattern.
 */
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
    for (const child of childrenInOrder(node)) yield* leavesInOrder(child);
    if (node.wildcard) yield* leavesInOrder(node.wildcard.node);
    return;
  }
  for (const child of childrenOverlapping(node, segment))
    yield* overlappingLeaves(child, segments, index + 1);
  if (!node.wildcard) return;
  const { node: afterWildcard, lengths } = node.wildcard;
  const isOpenEnded = segments.slice(index).some(({ kind }) => kind === "wildcard");
  if (isOpenEnded) yield* leavesInOrder(afterWildcard);
  else
    for (const length of lengths) {
      const next = segments.length - length;
      if (next > index) yield* overlappingLeaves(afterWildcard, segments, next);
    }
}

/** Visits the children for one segment, except the wildcard, in the order in which they decide. */
function* childrenInOrder(node: TreeNode): Iterable<TreeNode> {
  for (const edge of node.statics.values()) yield edge.node;
  for (const edge of node.mixed) yield edge.node;
  if (node.parameter) yield node.parameter;
}

/** Visits the children that may match the same segment as a segment of a pattern. */
function* childrenOverlapping(node: TreeNode, segment: PatternSegment): Iterable<TreeNode> {
  if (segment.kind !== "static") {
    yield* childrenInOrder(node);
    return;
  }
  const edge = node.statics.get(loosen(segment.text));
  if (edge) yield edge.node;
  for (const mixed of node.mixed) if (coversMixed(mixed.parts, segment)) yield mixed.node;
  if (node.parameter) yield node.parameter;
}

/** Visits the rules that end exactly `depth` segments below a node. */
function* leavesAtDepth(node: TreeNode, depth: number): Iterable<Leaf> {
  if (depth === 0) yield* node.leaves.values();
  else for (const child of childrenInOrder(node)) yield* leavesAtDepth(child, depth - 1);
}
