import { describe, expect, it } from "vitest";
import { claimAt, claimNameOf, isOptionalString } from "../../../src/core/token/claim-path.ts";

describe("claimAt", () => {
  const claims = { a: { b: { c: 1 } }, text: "text", none: null, list: [["x"]], "a.b": 2 };

  it.each([
    ["a.b", 2],
    ["text", "text"],
    ["none", null],
    [["a", "b", "c"], 1],
    [["a", "b"], { c: 1 }],
    [["list", "0", "0"], "x"],
    [[], claims],
  ])("finds the claim at %j", (path, value) => {
    expect(claimAt(claims, path)).toEqual(value);
  });

  it.each([
    "b",
    ["a", "c"],
    ["a", "b", "c", "d"],
    ["text", "length"],
    ["none", "x"],
    ["missing", "x"],
    "toString",
    ["a", "constructor"],
    ["a", "__proto__"],
  ])("finds nothing at %j", (path) => {
    expect(claimAt(claims, path)).toBeUndefined();
  });
});

describe("the name of a claim", () => {
  it("joins its path with dots", () => {
    expect(["sub", ["realm_access", "roles"]].map(claimNameOf)).toEqual(["sub", "realm_access.roles"]);
  });
});

describe("isOptionalString", () => {
  it("accepts a string and an absent claim", () => {
    expect([undefined, "", "a", null, 5, ["a"]].map(isOptionalString)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
