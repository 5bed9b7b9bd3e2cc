import { describe, expect, it } from "vitest";
import { scopeSetOf } from "../../../src/core/scopes/scope-sets.ts";
import { ADMIN_RULES, scopeRulesOf } from "../../support/policy.ts";

const rules = ADMIN_RULES;

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
    [['a","b'], ["a", "b"]],
    [["a\n"], ["a"]],
    [
      ["a", "b"],
      ["b", "a"],
    ],
    [
      ["a", "b"],
      ["a", "c"],
    ],
    [["a", "b"], ["a"]],
    [[], [""]],
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

  it.each([
    ["long scopes", (index: number) => [`${index}${"x".repeat(100_000)}`]],
    ["many scopes", (index: number) => Array.from({ length: 3_000 }, (_, at) => `${index}:${at}`)],
  ])("forgets the oldest sets when the sets with %s need more than 4 MiB", (_, scopesOf) => {
    const own = scopeRulesOf({});
    const first = scopeSetOf(scopesOf(0), own);
    scopeSetOf([], own);
    expect(scopeSetOf(scopesOf(0), own)).toBe(first);
    for (let index = 1; index < 50; index += 1) scopeSetOf(scopesOf(index), own);
    expect(scopeSetOf(scopesOf(0), own)).not.toBe(first);
  });
});

describe("a set", () => {
  const set = scopeSetOf(["agents:web:read", "platform:admin"], rules);

  it.each(["", "a b", "agents::read", ":read"])(
    "contains no scope %j, which no token can be granted, even for an administrator",
    (scope) => {
      expect([set.has("agents:read"), set.has(scope)]).toEqual([true, false]);
    },
  );

  it("returns the ids of a resource", () => {
    expect(set.resourceIds("agents", "read")).toBe("all");
    expect(scopeSetOf(["agents:web:read"], rules).resourceIds("agents", "read")).toEqual(new Set(["web"]));
  });
});
