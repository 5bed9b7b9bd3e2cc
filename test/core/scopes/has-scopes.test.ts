import { describe, expect, it } from "vitest";
import { hasScopes } from "../../../src/core/scopes/has-scopes.ts";
import { withPollution } from "../../support/polluted-prototype.ts";
import { mistakesOf } from "../../support/resource-servers.ts";

// `test/model` has which scope covers which, by this function.

describe("hasScopes", () => {
  it("requires every scope of an array", () => {
    expect(hasScopes(["a:b", "c:d"], ["a:b", "c:d"])).toBe(true);
    expect(hasScopes(["a:b"], ["a:b", "c:d"])).toBe(false);
    expect(hasScopes([], [])).toBe(true);
  });

  it("requires at least one scope of anyOf", () => {
    expect(hasScopes(["c:d"], { anyOf: ["a:b", "c:d"] })).toBe(true);
    expect(hasScopes(["e:f"], { anyOf: ["a:b", "c:d"] })).toBe(false);
    expect(hasScopes(["root"], { anyOf: [] }, { adminScope: "root" })).toBe(false);
  });

  it("accepts a Set of granted scopes", () => {
    expect(hasScopes(new Set(["agents:*:read"]), "agents:web:read")).toBe(true);
    expect(hasScopes(new Set(), "agents:web:read")).toBe(false);
  });

  it("uses the admin scope and the implied scopes of its options only", () => {
    const options = { adminScope: "root", impliedScopes: { "agents:write": ["agents:read"] } };
    for (const granted of [["root"], ["agents:write"]]) {
      expect(hasScopes(granted, "agents:read", options)).toBe(true);
      expect(hasScopes(granted, "agents:read")).toBe(false);
      expect(hasScopes(granted, "agents:read", { adminScope: null })).toBe(false);
    }
  });

  it.each(["", "a b", "agents::read", "é", "agents:<agent_id>:read", "agents:<>:read", "<agent_id>"])(
    "throws if no token can be granted the required scope %j, even for an administrator",
    (required) => {
      const expected = ["scope_invalid", "scopes", 0];
      expect(mistakesOf(() => hasScopes(["root"], required, { adminScope: "root" }))).toEqual([expected]);
      expect(mistakesOf(() => hasScopes([required], { anyOf: [required] }))).toEqual([expected]);
    },
  );

  it("lists every invalid required scope, whether or not the others are granted", () => {
    expect(mistakesOf(() => hasScopes(["a:b"], ["a:b", "c::d", "e f"]))).toEqual([
      ["scope_invalid", "scopes", 1],
      ["scope_invalid", "scopes", 2],
    ]);
  });

  it.each([{ anyOf: ["a:b"] }, { adminScope: "a:b" }, { impliedScopes: { "a:b": ["c:d"] } }])(
    "grants nothing because of a polluted prototype: %j",
    (properties) => {
      expect(withPollution(properties, () => hasScopes(["a:b"], ["c:d"]))).toBe(false);
      expect(withPollution(properties, () => hasScopes(["a:b"], "c:d", {}))).toBe(false);
    },
  );

  it("throws if the scope hierarchy is invalid", () => {
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
