/** The rules of a route whose mount is known only as a request spells it. */
import { findCovering } from "./find-rules.ts";
import { coversMixed } from "./overlap.ts";
import { type PatternSegment } from "./pattern.ts";
import { type Leaf, type RuleTree, type TreeNode } from "./rule-tree.ts";
import { loosen } from "./segment.ts";

interface Search {
  readonly method: string;
  /** The segments of the requested mount as static text, and then those of the route. */
  readonly route: readonly PatternSegment[];
  readonly mountLength: number;
  readonly leaves: Set<Leaf>;
}

/**
 * Collects every rule that may be the narrowest one that covers the route. Each of the first `mountLength`
 * segments may be static text or a parameter, and a wildcard may have matched several of them: a request must
 * not choose the rule by how it spells the mount.
 */
export function findMountedRules(
  tree: RuleTree,
  method: string,
  route: readonly PatternSegment[],
  mountLength: number,
): readonly Leaf[] {
  const search: Search = { method, route, mountLength, leaves: new Set() };
  collectMounted(tree.root, 0, search);
  return [...search.leaves];
}

function collectMounted(node: TreeNode, index: number, search: Search): void {
  const { method, route, mountLength, leaves } = search;
  const segment = route[index];
  if (index >= mountLength || segment?.kind !== "static") {
    const leaf = findCovering(node, route, index, method);
    if (leaf) leaves.add(leaf);
    return;
  }
  const edge = node.statics.get(loosen(segment.text));
  if (edge) collectMounted(edge.node, index + 1, search);
  for (const mixed of node.mixed)
    if (coversMixed(mixed.parts, segment)) collectMounted(mixed.node, index + 1, search);
  if (node.parameter) collectMounted(node.parameter, index + 1, search);
  if (!node.wildcard) return;
  for (const length of node.wildcard.lengths) {
    const next = route.length - length;
    if (next > index) collectMounted(node.wildcard.node, next, search);
  }
}
