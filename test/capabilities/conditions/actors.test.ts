import { describe, expect, it } from "vitest";
import { explain } from "scopegate/explain";
import { conditionIssues, resultFor } from "../../support/conditions.ts";
import { createServer } from "../../support/resource-servers.ts";

const REFUSED = "caller_not_allowed actors";
const LISTED = { actors: { anyOf: ["agent-1", "agent-2"] } } as const;

describe('the condition `actors: "none"`', () => {
  it("allows a user that acts alone", () => {
    expect(resultFor({ actors: "none" }, { sub: "u1" })).toBe("allowed");
  });

  it.each(
    ([{ sub: "agent-1" }, {}, null, "agent-1", [], 0, false, ""] as readonly unknown[]).map(
      (act): readonly [unknown] => [act],
    ),
  )("refuses a token with the act %j", (act) => {
    expect(resultFor({ actors: "none" }, { sub: "u1", act })).toBe(REFUSED);
  });
});

describe('the condition `actors: "any"`', () => {
  it.each([
    [{ act: { sub: "agent-1" } }, "allowed"],
    [{ act: { sub: "agent-1", act: { client_id: "a" } } }, "allowed"],
    [{}, REFUSED],
    ...[{}, null, "agent-1", [], { client_id: "a" }, { sub: 5 }, { sub: "a", act: null }].map(
      (act): [object, string] => [{ act }, REFUSED],
    ),
  ])("decides about %j: %s", (claims, expected) => {
    expect(resultFor({ actors: "any" }, { sub: "u1", ...claims })).toBe(expected);
  });
});

describe("a list of `actors`", () => {
  it("allows a listed actor", () => {
    expect(resultFor(LISTED, { act: { sub: "agent-2" } })).toBe("allowed");
  });

  it("lets only the outermost actor decide", () => {
    expect(resultFor(LISTED, { act: { sub: "agent-1", act: { sub: "other" } } })).toBe("allowed");
    expect(resultFor(LISTED, { act: { sub: "other", act: { sub: "agent-1" } } })).toBe(REFUSED);
  });

  it("refuses a user that acts alone, unless `direct` allows it", () => {
    expect(resultFor(LISTED, { sub: "u1" })).toBe(REFUSED);
    expect(resultFor({ actors: { ...LISTED.actors, direct: true } }, { sub: "u1" })).toBe("allowed");
    expect(resultFor({ actors: { ...LISTED.actors, direct: false } }, { sub: "u1" })).toBe(REFUSED);
  });

  it("refuses an actor of another issuer", () => {
    const iss = "https://a.test";
    expect(resultFor(LISTED, { iss, act: { sub: "agent-1", iss } })).toBe("allowed");
    expect(resultFor(LISTED, { iss, act: { sub: "agent-1" } })).toBe("allowed");
    expect(resultFor(LISTED, { iss, act: { sub: "agent-1", iss: "https://b.test" } })).toBe(REFUSED);
    expect(resultFor(LISTED, { act: { sub: "agent-1", iss } })).toBe(REFUSED);
  });

  it.each(
    (
      [
        null,
        "agent-1",
        ["agent-1"],
        [{ sub: "agent-1" }],
        {},
        { sub: ["agent-1"] },
        { sub: "Agent-1" },
        { sub: "" },
        { client_id: "agent-1" },
        { sub: "agent-1", act: null },
        { sub: "agent-1", act: "other" },
        { sub: "agent-1", iss: 5 },
        { sub: "agent-1", act: { act: [] } },
      ] as readonly unknown[]
    ).map((act): readonly [unknown] => [act]),
  )("refuses the act %j, with `direct` too", (act) => {
    expect(resultFor(LISTED, { act })).toBe(REFUSED);
    expect(resultFor({ actors: { ...LISTED.actors, direct: true } }, { act })).toBe(REFUSED);
  });

  it.each([
    ["some", "isn't a condition on actors"],
    [null, "isn't a condition on actors"],
    [{}, "isn't a condition on actors"],
    [{ anyOf: ["a", 5] }, "isn't a condition on actors"],
    [{ anyOf: [] }, "isn't a condition on actors"],
    [{ anyOf: [""] }, "isn't a condition on actors"],
    [{ direct: true }, "isn't a condition on actors"],
    [{ anyOf: ["a"], direct: "yes" }, "isn't a condition on actors"],
    [{ anyOf: ["a"], inner: true }, "isn't a condition on actors"],
    [undefined, "isn't a condition on actors"],
  ])("rejects %j", (actors, text) => {
    expect(conditionIssues({ actors }).join()).toContain(text);
  });
});

describe("a polluted prototype", () => {
  it("names no actor", () => {
    const prototype = Object.prototype as { sub?: string };
    Object.defineProperty(prototype, "sub", { value: "agent-1", configurable: true });
    try {
      expect(resultFor({ actors: "any" }, { act: {} })).toBe(REFUSED);
      expect(resultFor(LISTED, { act: null })).toBe(REFUSED);
      expect(resultFor(LISTED, { act: {} })).toBe(REFUSED);
      expect(resultFor(LISTED, { act: { client_id: "x" } })).toBe(REFUSED);
    } finally {
      delete prototype.sub;
    }
  });
});

describe("the actors of a principal", () => {
  const principalOf = (claims: Readonly<Record<string, unknown>>) =>
    explain(createServer(), { method: "GET", path: "/agents", scopes: ["agents:read"], claims }).decision
      .principal;

  it("returns a frozen chain, the current actor first", () => {
    const act = { sub: "b", iss: "https://a.test", client_id: "c", act: { sub: "a" } };
    const principal = principalOf({ act });
    expect(principal?.actor).toEqual({ sub: "b", issuer: "https://a.test", clientId: "c" });
    expect(principal?.delegation).toEqual([principal?.actor, { sub: "a" }]);
    expect(Object.isFrozen(principal?.delegation)).toBe(true);
    expect(Object.isFrozen(principal?.actor)).toBe(true);
  });

  it.each([{}, { act: null }, { act: { sub: 1 } }])("omits them for %j", (claims) => {
    expect(principalOf(claims)).not.toHaveProperty("actor");
    expect(principalOf(claims)).not.toHaveProperty("delegation");
  });
});
