import { describe, expect, it } from "vitest";
import { RuleTree, type TreeNode } from "../../../src/core/policy/rule-tree.ts";
import { pathOf, rulesOf } from "../../support/policy.ts";

/** A tree with the rules in this order, and the conflicts that adding them reports. */
function grow(...keys: readonly string[]) {
  const tree = new RuleTree();
  const rules = keys.flatMap((key) => rulesOf({ [key]: [] }));
  const conflicts = rules.flatMap((rule) =>
    rule.pattern.alternatives.map((alternative) => tree.add(rule, alternative)),
  );
  return { tree, conflicts: conflicts.filter((one) => one !== undefined) };
}

function leafAt(node: TreeNode | undefined, method: string) {
  const leaf = node?.leaves.get(method);
  if (!leaf) throw new Error("No rule ends here.");
  return leaf;
}

describe("RuleTree", () => {
  it("keeps static texts under their loosest spelling", () => {
    const { tree } = grow("GET /Caf%C3%A9");
    expect([...tree.root.statics].map(([loosest, { text }]) => [loosest, text])).toEqual([
      ["café", "Caf%C3%A9"],
    ]);
  });

  it("shares the nodes that patterns have in common", () => {
    const { tree } = grow("GET /a/:x", "POST /a/:y", "GET /a/:z/b", "GET /a/*rest", "GET /a/*path/c");
    const node = tree.root.statics.get("a")?.node;
    expect([...(node?.parameter?.leaves.keys() ?? [])]).toEqual(["GET", "POST"]);
    expect(node?.parameter?.statics.has("b")).toBe(true);
    expect(node?.wildcard?.lengths).toEqual([1, 0]);
  });

  it.each([
    ["GET /a", "GET /a/{*path}"],
    ["GET /a/{*path}", "GET /a"],
  ])("keeps of two rules that end at the same node the one without a group: %s, %s", (...keys) => {
    const { tree } = grow(...keys);
    const leaf = leafAt(tree.root.statics.get("a")?.node, "GET");
    expect(leaf.compiled.rule.key).toBe("GET /a");
    expect(leaf).toMatchObject({ withSlash: true, withoutSlash: true });
  });

  it("records whether a pattern is written with a slash or a wildcard at its end", () => {
    const { tree } = grow("GET /a{/}", "GET /b/", "GET /c/*rest");
    const at = (text: string) => tree.root.statics.get(text)?.node;
    expect(leafAt(at("a"), "GET")).toMatchObject({ withSlash: true, withoutSlash: true });
    expect(leafAt(at("b"), "GET")).toMatchObject({
      withSlash: true,
      withoutSlash: false,
      endsInWildcard: false,
    });
    expect(leafAt(at("c")?.wildcard?.node, "GET").endsInWildcard).toBe(true);
  });

  it.each([
    [["GET /agents/x", "GET /Agents/y"], { written: "Agents", earlier: "agents" }],
    [["GET /a%2Eb", "POST /a.b"], { written: "a.b", earlier: "a%2Eb" }],
    [["GET /:id.json", "POST /:id.Json"], { written: ":.Json", earlier: ":.json" }],
  ])("reports two spellings of one text at the same place: %j", (keys, conflict) => {
    expect(grow(...keys).conflicts).toEqual([conflict]);
  });

  it("reports no conflict for one text at different places", () => {
    expect(grow("GET /agents/x", "GET /teams/Agents", "GET /:id/X").conflicts).toEqual([]);
  });

  it("orders mixed segments by their text, whatever the order of the table", () => {
    const keys = ["GET /:a-:b", "GET /:a.json", "GET /x-:a", "GET /:a-x", "GET /:a.j"];
    const orderOf = (all: readonly string[]) => grow(...all).tree.root.mixed.map(({ identity }) => identity);
    expect(orderOf(keys)).toEqual(["\u0001.json", "\u0001-x", "\u0001.j", "x-\u0001", "\u0001-\u0001"]);
    expect(orderOf(keys.toReversed())).toEqual(orderOf(keys));
  });

  it("reads an empty parameter from a path that is too short", () => {
    const { tree } = grow("GET /:id", "GET /:name.json");
    const [mixed] = tree.root.mixed;
    for (const [node, name] of [
      [tree.root.parameter, "id"],
      [mixed?.node, "name"],
    ] as const)
      expect(leafAt(node, "GET").parameters.get(name)?.(pathOf("/"))).toBe("");
  });

  it("treats all methods without rules alike, so that invented ones are not remembered", () => {
    const { tree } = grow("GET /a", "* /b");
    expect(tree.ruledMethod("M1")).toBe("*");
    expect(tree.ruledMethod("GET")).toBe("GET");
    expect(tree.ruledMethod("HEAD")).toBe("HEAD");
  });
});
