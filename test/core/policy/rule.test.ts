import { describe, expect, it } from "vitest";
import { appliesTo, commonMethod, renderRules } from "../../../src/core/policy/rule.ts";
import { matchOf, RuleTree } from "../../../src/core/policy/rule-tree.ts";
import { getTable, pathOf, rulesOf } from "../../support/policy.ts";

describe("the method of a rule", () => {
  it.each([
    ["GET", "GET", "GET"],
    ["*", "GET", "GET"],
    ["POST", "*", "POST"],
    ["*", "*", "*"],
    ["GET", "HEAD", "HEAD"],
    ["HEAD", "GET", "HEAD"],
    ["GET", "POST", undefined],
    ["HEAD", "POST", undefined],
  ])("is, of %s and %s, the one that both apply to: %s", (first, second, common) => {
    const [rule] = rulesOf({ [`${first} /a`]: [] });
    const [other] = rulesOf({ [`${second} /b`]: [] });
    if (!rule || !other) throw new Error("A table has no rule.");
    expect(commonMethod(rule, other)).toBe(common);
    if (common !== undefined)
      expect(appliesTo(rule.rule, common)).toBe(first !== "HEAD" || common === "HEAD");
  });
});

describe("the keys of several rules", () => {
  it.each([
    [0, ""],
    [1, "`GET /0`"],
    [5, "`GET /0`, `GET /1`, `GET /2`, `GET /3`, `GET /4`"],
    [8, "`GET /0`, `GET /1`, `GET /2`, `GET /3`, `GET /4` and 3 more"],
  ])("names up to five of %i, and counts the others", (count, text) => {
    const rules = rulesOf(getTable(Array.from({ length: count }, (_, index) => `/${index}`)));
    expect(renderRules(rules.map(({ rule }) => rule))).toBe(text);
  });
});

describe("the tree of rules", () => {
  function treeOf(key: string): RuleTree {
    const tree = new RuleTree();
    for (const rule of rulesOf({ [key]: [] }))
      for (const alternative of rule.pattern.alternatives) tree.add(rule, alternative);
    return tree;
  }

  it("reads an empty parameter from a path that is too short", () => {
    const { parameter } = treeOf("GET /:id").root;
    const [ending] = treeOf("GET /:id.json").root.endings.values();
    for (const node of [parameter, ending?.node]) {
      const leaf = node?.leaves.get("GET");
      if (!leaf) throw new Error("No rule ends here.");
      expect(matchOf(leaf, pathOf("/")).parameter("id")).toBe("");
    }
  });

  it.each([
    ["M1", "*"],
    ["GET", "GET"],
    ["HEAD", "HEAD"],
  ])(
    "treats all methods without rules alike, so that invented ones are not remembered: %s",
    (method, ruled) => {
      expect(treeOf("GET /a").ruledMethod(method)).toBe(ruled);
    },
  );
});
