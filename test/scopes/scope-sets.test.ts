import { describe, expect, it } from "vitest";
import { scopeSetOf } from "../../src/scopes/scope-sets.ts";
import { scopeRulesOf } from "../support/policy.ts";

const rules = scopeRulesOf({});

describe("scopeSetOf", () => {
  it("returns the same set for equal scopes", () => {
    expect(scopeSetOf(["agents:read"], rules)).toBe(scopeSetOf(["agents:read"], rules));
  });

  it("returns the same set after other sets were requested", () => {
    const lists = [[], ["a"], ["b"], ["a", "b"], ["a b"]];
    const sets = lists.map((list) => scopeSetOf(list, rules));
    expect(lists.map((list) => scopeSetOf([...list], rules))).toEqual(sets);
    expect(new Set([...sets, ...lists.toReversed().map((list) => scopeSetOf([...list], rules))]).size).toBe(
      5,
    );
  });

  it.each<readonly [readonly string[], readonly string[]]>([
    [["a b"], ["a", "b"]],
    [["a,b"], ["a", "b"]],
    [['a","b'], ["a", "b"]],
    [["a\n"], ["a"]],
    [
      ["a", "b"],
      ["b", "a"],
    ],
    [["a", "b"], ["a"]],
    [["a"], ["a", "b"]],
    [[], [""]],
    [[], ["a"]],
  ])("returns different sets for the different arrays %j and %j", (one, other) => {
    expect(scopeSetOf(one, rules)).not.toBe(scopeSetOf(other, rules));
    expect(scopeSetOf(one, rules).scopes).toEqual(one);
    expect(scopeSetOf(other, rules).scopes).toEqual(other);
  });

  it("returns different sets for different Set objects from untyped code", () => {
    const setOf = (...scopes: string[]) => scopeSetOf(new Set(scopes) as unknown as string[], rules);
    expect(setOf("agents:read").has("agents:read")).toBe(true);
    expect(setOf("teams:read").has("agents:read")).toBe(false);
  });

  it("returns different sets for the rules of different servers", () => {
    const [own, other] = [scopeSetOf(["root"], rules), scopeSetOf(["root"], scopeRulesOf({}, "root"))];
    expect([own.has("agents:read"), other.has("agents:read")]).toEqual([false, true]);
    expect(scopeSetOf(own.scopes, scopeRulesOf({}, "root")).has("agents:read")).toBe(true);
  });

  it("keeps the set unchanged when the original array changes", () => {
    const list = ["agents:read"];
    const set = scopeSetOf(list, rules);
    list.push("platform:admin");
    expect([set.scopes, set.has("teams:read")]).toEqual([["agents:read"], false]);
    expect(scopeSetOf(list, rules).has("teams:read")).toBe(true);
    expect(Object.isFrozen(set) && Object.isFrozen(set.scopes)).toBe(true);
  });
});
