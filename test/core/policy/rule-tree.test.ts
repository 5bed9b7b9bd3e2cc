import { describe, expect, it } from "vitest";
import { matchOf, RuleTree, type TreeNode } from "../../../src/core/policy/rule-tree.ts";
import { pathOf, rulesOf } from "../../support/policy.ts";

/** A tree with the rules in this order. */
function treeOf(...keys: readonly string[]): RuleTree {
  const tree = new RuleTree();
  for (const rule of keys.flatMap((key) => rulesOf({ [key]: [] })))
    for (const alternative of rule.pattern.alternatives) tree.add(rule, alternative);
  return tree;
}

function leafAt(node: TreeNode | undefined, method: string) {
  const leaf = node?.leaves.get(method);
  if (!leaf) throw new Error("No rule ends here.");
  return leaf;
}

describe("RuleTree", () => {
  it("reads an empty parameter from a path that is too short", () => {
    const tree = treeOf("GET /:id", "GET /:name.json");
    const [ending] = tree.root.endings.values();
    for (const [node, name] of [
      [tree.root.parameter, "id"],
      [ending?.node, "name"],
    ] as const)
      expect(matchOf(leafAt(node, "GET"), pathOf("/")).parameter(name)).toBe("");
  });

  it("treats all methods without rules alike, so that invented ones are not remembered", () => {
    const tree = treeOf("GET /a", "* /b");
    expect(tree.ruledMethod("M1")).toBe("*");
    expect(tree.ruledMethod("GET")).toBe("GET");
    expect(tree.ruledMethod("HEAD")).toBe("HEAD");
  });
});
