/** Visits all rules of a tree in the order in which they decide, or the rules that a pattern may overlap. */
import { childrenFor } from "./find-rules.ts";
import type { PatternSegment } from "./pattern.ts";
import { type Leaf, lengthOf, type TreeNode } from "./rule-tree.ts";

/** Visits the rules in the order in which their paths decide. Rules with the same path come in any order. */
export function* leavesInOrder(node: TreeNode): Iterable<Leaf> {
  yield* node.leaves.values();
  for (const child of childrenInOrder(node)) yield* leavesInOrder(child);
  if (node.wildcard) yield* node.wildcard.leaves.values();
}

/**
 * Visits the rules whose paths are tried after those of a rule's pattern, and that may match the same paths.
 * Where the two patterns first differ, theirs is wider, so the narrower edges need no visit. Stops at nodes
 * that `isSettled` names, for the segments that are left there.
 */
export function* laterLeaves(
  node: TreeNode,
  segments: readonly PatternSegment[],
  isSettled: (node: TreeNode, rest: readonly PatternSegment[]) => boolean,
  index = 0,
): Iterable<Leaf> {
  const segment = segments[index];
  if (!segment) return;
  const [sameChild, ...widerChildren] = childrenFor(node, segment);
  if (sameChild) yield* laterLeaves(sameChild, segments, isSettled, index + 1);
  const rest = segments.slice(index + 1);
  for (const child of widerChildren) if (!isSettled(child, rest)) yield* overlappingLeaves(child, rest);
  if (node.wildcard && segment.kind !== "wildcard") yield* node.wildcard.leaves.values();
}

/**
 * Visits the rules that a path of a pattern may reach, from the segment at `index` on, except those below
 * nodes that `isSettled` names. It may also visit a few rules that have no path in common with the pattern.
 */
export function* overlappingLeaves(
  node: TreeNode,
  segments: readonly PatternSegment[],
  isSettled?: (node: TreeNode) => boolean,
  index = 0,
): Iterable<Leaf> {
  if (isSettled?.(node)) return;
  const segment = segments[index];
  if (!segment) {
    yield* node.leaves.values();
    return;
  }
  if (segment.kind === "wildcard") for (const child of childrenInOrder(node)) yield* leavesInOrder(child);
  else
    for (const child of segment.kind === "static" ? childrenFor(node, segment) : childrenInOrder(node))
      yield* overlappingLeaves(child, segments, isSettled, index + 1);
  if (node.wildcard) yield* node.wildcard.leaves.values();
}

/** Visits the children for one segment, except the wildcard, in the order in which they decide. */
function* childrenInOrder(node: TreeNode): Iterable<TreeNode> {
  for (const edge of node.statics.values()) yield edge.node;
  if (node.endings.size > 0) {
    const endings = [...new Set(node.endings.values())].sort((a, b) => lengthOf(b) - lengthOf(a));
    for (const edge of endings) yield edge.node;
  }
  if (node.parameter) yield node.parameter;
}
