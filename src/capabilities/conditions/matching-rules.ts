import { childrenFor, edgesFor, endOfSegment, type PathWalk, spellAt } from "../../core/policy/find-rules.ts";
import { type Leaf, leavesFor, type RuleTree, type TreeNode } from "../../core/policy/rule-tree.ts";
import type { PatternSegment } from "../../core/policy/pattern.ts";
import { compareParts } from "../../core/policy/segment.ts";
import type { Path } from "../../core/request.ts";

/** Collects every rule that a router may match to a path, even if narrower rules match too. */
export function collectMatching(tree: RuleTree, method: string, path: Path): readonly Leaf[] {
  const leaves = new Set<Leaf>();
  collectAllAt(tree.root, 1, { path, method, spelledSegments: new Map() }, leaves);
  return [...leaves];
}

function collectAllAt(node: TreeNode, start: number, walk: PathWalk, leaves: Set<Leaf>): void {
  const { path, method } = walk;
  if (start > path.end) {
    for (const leaf of leavesFor(node, method)) leaves.add(leaf);
    return;
  }
  const end = endOfSegment(path, start);
  const segment = spellAt(walk, start, end);
  for (const edge of edgesFor(node, segment))
    if (compareParts(segment, edge.texts)) collectAllAt(edge.node, end + 1, walk, leaves);
  if (node.parameter) collectAllAt(node.parameter, end + 1, walk, leaves);
  if (node.wildcard) for (const leaf of leavesFor(node.wildcard, method)) leaves.add(leaf);
}

/** Collects every rule that matches all paths of a route. */
export function collectCovering(
  tree: RuleTree,
  method: string,
  route: readonly PatternSegment[],
): readonly Leaf[] {
  const leaves: Leaf[] = [];
  const collectBelow = (node: TreeNode, index: number): void => {
    const segment = route[index];
    if (!segment) {
      leaves.push(...leavesFor(node, method));
      return;
    }
    for (const child of childrenFor(node, segment)) collectBelow(child, index + 1);
    if (node.wildcard) leaves.push(...leavesFor(node.wildcard, method));
  };
  collectBelow(tree.root, 0);
  return leaves;
}
