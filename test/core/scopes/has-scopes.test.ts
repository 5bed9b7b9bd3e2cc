import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { hasScopes } from "../../../src/core/scopes/has-scopes.ts";

/** The code and path of every issue that a call throws. */
function mistakesOf(run: () => unknown): readonly (readonly unknown[])[] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.issues.map(({ code, path }) => [code, ...path]);
    throw error;
  }
  return [];
}

describe("hasScopes", () => {
  it.each([
    [["agents:read"], true, true],
    [["agents:web:read"], false, true],
    [["agents:api:read"], false, false],
    [["platform:admin"], false, false],
    [[], false, false],
  ])("returns for granted scope %j: agents:read %s, agents:web:read %s", (granted, wide, ofWeb) => {
    expect(hasScopes(granted, "agents:read")).toBe(wide);
    expect(hasScopes(granted, "agents:web:read")).toBe(ofWeb);
  });

  it("requires every scope of an array", () => {
    expect(hasScopes(["a:b", "c:d"], ["a:b", "c:d"])).toBe(true);
    expect(hasScopes(["a:b"], ["a:b", "c:d"])).toBe(false);
    expect(hasScopes(["c:d"], ["a:b", "c:d"])).toBe(false);
    expect(hasScopes([], ["a:b"])).toBe(false);
    expect(hasScopes([], [])).toBe(true);
  });

  it("requires at least one scope of anyOf", () => {
    expect(hasScopes(["a:b"], { anyOf: ["a:b", "c:d"] })).toBe(true);
    expect(hasScopes(["c:d"], { anyOf: ["a:b", "c:d"] })).toBe(true);
    expect(hasScopes(["e:f"], { anyOf: ["a:b", "c:d"] })).toBe(false);
    expect(hasScopes(["root"], { anyOf: [] }, { adminScope: "root" })).toBe(false);
  });

  it("accepts a Set of granted scopes", () => {
    expect(hasScopes(new Set(["agents:*:read"]), "agents:web:read")).toBe(true);
    expect(hasScopes(new Set(), "agents:web:read")).toBe(false);
  });

  it("accepts an admin scope, or null for none", () => {
    expect(hasScopes(["platform:admin"], "a:b", { adminScope: null })).toBe(false);
    expect(hasScopes(["root"], "a:b", { adminScope: "root" })).toBe(true);
    expect(hasScopes(["root"], "a:b")).toBe(false);
  });

  it("follows implied scopes transitively, for the same id only", () => {
    const options = { impliedScopes: { "agents:admin": ["agents:write"], "agents:write": ["agents:read"] } };
    expect(hasScopes(["agents:admin"], "agents:read", options)).toBe(true);
    expect(hasScopes(["agents:web:admin"], "agents:web:read", options)).toBe(true);
    expect(hasScopes(["agents:web:admin"], "agents:api:read", options)).toBe(false);
    expect(hasScopes(["agents:read"], "agents:write", options)).toBe(false);
    expect(hasScopes(["agents:write"], "agents:read")).toBe(false);
  });

  it.each(["", " ", "a b", "agents::read", "agents:", ":read", 'a"b', "é", "a\\b", "a\n"])(
    "throws if no token can be granted the required scope %j, even for an administrator",
    (required) => {
      const expected = ["scope_invalid", "scopes", 0];
      expect(mistakesOf(() => hasScopes(["root"], required, { adminScope: "root" }))).toEqual([expected]);
      expect(mistakesOf(() => hasScopes([required], [required]))).toEqual([expected]);
      expect(mistakesOf(() => hasScopes([], { anyOf: [required] }))).toEqual([expected]);
    },
  );

  it.each(["agents:<agent_id>:read", "agents:<>:read", "agents:x<y>:read", "<agent_id>"])(
    "throws for the template %s, because there is no route with parameters",
    (required) => {
      expect(mistakesOf(() => hasScopes(["root"], required, { adminScope: "root" }))).toEqual([
        ["scope_invalid", "scopes", 0],
      ]);
    },
  );

  it("lists every invalid required scope, whether or not the others are granted", () => {
    expect(mistakesOf(() => hasScopes(["a:b"], ["a:b", "c::d", "e f"]))).toEqual([
      ["scope_invalid", "scopes", 1],
      ["scope_invalid", "scopes", 2],
    ]);
    expect(mistakesOf(() => hasScopes(["a:b"], { anyOf: ["a:b", "c::d"] }))).toEqual([
      ["scope_invalid", "scopes", 1],
    ]);
  });

  it("throws if the scope hierarchy is invalid", () => {
    expect(mistakesOf(() => hasScopes([], "a:b", { impliedScopes: { a: ["b"], b: ["a"] } }))).toEqual([
      ["implied_scopes_cycle", "impliedScopes", "a"],
      ["implied_scopes_cycle", "impliedScopes", "b"],
    ]);
    expect(mistakesOf(() => hasScopes([], "a:b", { impliedScopes: { a: ["b c"] } }))).toEqual([
      ["scope_invalid", "impliedScopes", "a"],
    ]);
  });

  it("throws no error for any scopes of a token", () => {
    const granted = ["", "a b", "::", "agents::read", "\\", "\u0000", "*", "<x>", "a:b:c:d:e"];
    expect(hasScopes(granted, "agents:read")).toBe(false);
    expect(hasScopes(granted, "a:b:c:d:e")).toBe(true);
  });
});
