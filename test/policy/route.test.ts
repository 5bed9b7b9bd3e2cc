import { describe, expect, it } from "vitest";
import { type Requirement } from "../../src/policy/requirement.ts";
import { toRoute, UNMAPPED } from "../../src/policy/route.ts";
import { matchOf, tableOf } from "../support/policy.ts";

const matchFor = (requirement: Requirement) => matchOf(tableOf({ "GET /a": requirement }), "GET", "/a");

const asks = (first: Requirement, ...more: readonly Requirement[]) =>
  toRoute([matchFor(first), ...more.map(matchFor)]).asks;

describe("toRoute", () => {
  it.each([
    ["public", "nothing"],
    ["optional", "a good token or none"],
    [[], "a good token"],
    [["a:b"], "a good token"],
    [{ anyOf: ["a:b"] }, "a good token"],
    [{ filtered: "a:b" }, "a good token"],
  ] satisfies (readonly [Requirement, string])[])(
    "of a rule that is %j asks for %s",
    (requirement, asked) => {
      expect(asks(requirement)).toBe(asked);
      expect(asks(requirement, requirement)).toBe(asked);
    },
  );

  it.each([
    ["public", "optional", "a good token or none"],
    ["public", [], "a good token"],
    ["public", ["a:b"], "a good token"],
    ["optional", [], "a good token"],
    ["optional", { filtered: "a:b" }, "a good token"],
    [["a:b"], { anyOf: ["c:d"] }, "a good token"],
  ] satisfies (readonly [Requirement, Requirement, string])[])(
    "of rules that are %j and %j asks for %s, in whichever order they come",
    (one, other, asked) => {
      expect(asks(one, other)).toBe(asked);
      expect(asks(other, one)).toBe(asked);
    },
  );

  it("keeps every rule, and names the first", () => {
    const matches = [matchFor("public"), matchFor(["a:b"])] as const;
    const route = toRoute(matches);
    expect(route.kind).toBe("route");
    expect(route.matches).toEqual(matches);
    expect(route.facts.rule).toBe(matches[0].compiled.rule);
  });
});

describe("a request without a rule", () => {
  it("needs a good token, and names no rule", () => {
    expect(UNMAPPED).toEqual({ kind: "route", matches: [], facts: {}, asks: "a good token" });
  });
});
