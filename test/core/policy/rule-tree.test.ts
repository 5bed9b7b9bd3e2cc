import { describe, expect, it } from "vitest";
import { RuleTree, type TreeNode } from "../../../src/core/policy/rule-tree.ts";
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
  it("orders mixed segments by their text, whatever the order of the table", () => {
    const keys = ["GET /:a-:b", "GET /:a.json", "GET /x-:a", "GET /:a-x", "GET /:a.j"];
    const orderOf = (all: readonly string[]) => treeOf(...all).root.mixed.map(({ identity }) => identity);
    expect(orderOf(keys)).toEqual(["\u0001.json", "\u0001-x", "\u0001.j", "x-\u0001", "\u0001-\u0001"]);
    expect(orderOf(keys.toReversed())).toEqual(orderOf(keys));
  });

  it("reads an empty parameter from a path that is too short", () => {
    const tree = treeOf("GET /:id", "GET /:name.json");
    const [mixed] = tree.root.mixed;
    for (const [node, name] of [
      [tree.root.parameter, "id"],
      [mixed?.node, "name"],
    ] as const)
      expect(leafAt(node, "GET").parameters.get(name)?.(pathOf("/"))).toBe("");
  });

  it("treats all methods without rules alike, so that invented ones are not remembered", () => {
    const tree = treeOf("GET /a", "* /b");
    expect(tree.ruledMethod("M1")).toBe("*");
    expect(tree.ruledMethod("GET")).toBe("GET");
    expect(tree.ruledMethod("HEAD")).toBe("HEAD");
  });
});
