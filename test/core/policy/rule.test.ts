import { describe, expect, it } from "vitest";
import { appliesTo, commonMethod, optionPath, renderRules } from "../../../src/core/policy/rule.ts";
import { compiledOf, rulesOf } from "../../support/policy.ts";

describe("the method of a rule", () => {
  it.each([
    ["GET", "GET", true],
    ["GET", "HEAD", true],
    ["*", "DELETE", true],
    ["HEAD", "HEAD", true],
    ["HEAD", "GET", false],
    ["GET", "POST", false],
    ["POST", "HEAD", false],
  ])("decides by %s a request with %s: %s", (method, sent, isApplied) => {
    expect(appliesTo({ method }, sent)).toBe(isApplied);
  });

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
  });
});

describe("the place of a rule in the options", () => {
  it("names the table that it comes from", () => {
    const { rules } = compiledOf({ "GET /a": [], "GET /b": ["b:read"] }, { "GET /b": [], "GET /c": [] });
    expect(rules.map(({ rule }) => optionPath(rule).join(" ")).toSorted()).toEqual([
      "defaultScopeMappings GET /c",
      "scopeMappings GET /a",
      "scopeMappings GET /b",
    ]);
  });
});

describe("the keys of several rules", () => {
  const namesOf = (count: number) =>
    renderRules(
      rulesOf(Object.fromEntries(Array.from({ length: count }, (_, index) => [`GET /${index}`, []]))).map(
        ({ rule }) => rule,
      ),
    );

  it.each([
    [0, ""],
    [1, "`GET /0`"],
    [5, "`GET /0`, `GET /1`, `GET /2`, `GET /3`, `GET /4`"],
    [6, "`GET /0`, `GET /1`, `GET /2`, `GET /3`, `GET /4` and 1 more"],
    [8, "`GET /0`, `GET /1`, `GET /2`, `GET /3`, `GET /4` and 3 more"],
  ])("names up to five of %i, and counts the others", (count, text) => {
    expect(namesOf(count)).toBe(text);
  });
});
