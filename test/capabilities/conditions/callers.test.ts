import { describe, expect, it } from "vitest";
import type { Conditions } from "scopegate/conditions";
import { explain } from "scopegate/explain";
import { resultFor } from "../../support/conditions.ts";
import { createServer } from "../../support/resource-servers.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

// `conditions.test.ts` has the mistakes in conditions.

const REFUSED = "caller_not_allowed actors";
const LISTED: Conditions = { actors: { anyOf: ["agent-1", "agent-2"] } };
const LISTED_OR_USER: Conditions = { actors: { anyOf: ["agent-1", "agent-2"], direct: true } };

const resultOfAct = (conditions: Conditions, act: unknown) => resultFor(conditions, { sub: "u1", act });

describe("the condition `actors`", () => {
  it('allows with "none" a user that acts alone, and refuses every `act`', () => {
    expect(resultFor({ actors: "none" }, { sub: "u1" })).toBe("allowed");
    for (const act of [{ sub: "agent-1" }, {}, null, "agent-1", [], 0, false, ""])
      expect(resultOfAct({ actors: "none" }, act), JSON.stringify(act)).toBe(REFUSED);
  });

  it('allows with "any" a user for whom somebody acts, and refuses every malformed `act`', () => {
    for (const act of [{ sub: "agent-1" }, { sub: "agent-1", act: { client_id: "a" } }])
      expect(resultOfAct({ actors: "any" }, act)).toBe("allowed");
    expect(resultFor({ actors: "any" }, { sub: "u1" })).toBe(REFUSED);
    for (const act of [{}, null, "agent-1", [], { client_id: "a" }, { sub: 5 }, { sub: "a", act: null }])
      expect(resultOfAct({ actors: "any" }, act), JSON.stringify(act)).toBe(REFUSED);
  });

  it("allows a listed actor, and lets only the outermost one decide", () => {
    expect(resultOfAct(LISTED, { sub: "agent-2" })).toBe("allowed");
    expect(resultOfAct(LISTED, { sub: "agent-1", act: { sub: "other" } })).toBe("allowed");
    expect(resultOfAct(LISTED, { sub: "other", act: { sub: "agent-1" } })).toBe(REFUSED);
  });

  it("refuses a user that acts alone, unless `direct` allows it", () => {
    expect(resultFor(LISTED, { sub: "u1" })).toBe(REFUSED);
    expect(resultFor(LISTED_OR_USER, { sub: "u1" })).toBe("allowed");
    expect(resultFor({ actors: { anyOf: ["agent-1"], direct: false } }, { sub: "u1" })).toBe(REFUSED);
  });

  it("refuses an actor of another issuer", () => {
    const iss = "https://a.test";
    expect(resultFor(LISTED, { iss, act: { sub: "agent-1", iss } })).toBe("allowed");
    expect(resultFor(LISTED, { iss, act: { sub: "agent-1" } })).toBe("allowed");
    expect(resultFor(LISTED, { iss, act: { sub: "agent-1", iss: "https://b.test" } })).toBe(REFUSED);
    expect(resultFor(LISTED, { act: { sub: "agent-1", iss } })).toBe(REFUSED);
  });

  it.each<[string, readonly unknown[]]>([
    ["isn't an object", [null, "agent-1", ["agent-1"], [{ sub: "agent-1" }]]],
    [
      "has no listed `sub`",
      [{}, { sub: ["agent-1"] }, { sub: "Agent-1" }, { sub: "" }, { client_id: "agent-1" }],
    ],
    [
      "has a malformed `act` or `iss`",
      [
        { sub: "agent-1", act: null },
        { sub: "agent-1", act: "other" },
      ],
    ],
    [
      "has a malformed part",
      [
        { sub: "agent-1", iss: 5 },
        { sub: "agent-1", act: { act: [] } },
      ],
    ],
  ])("refuses an `act` that %s, with `direct` too", (_, acts) => {
    for (const act of acts)
      for (const conditions of [LISTED, LISTED_OR_USER])
        expect(resultOfAct(conditions, act), JSON.stringify(act)).toBe(REFUSED);
  });

  it("reads no actor from a polluted prototype", () => {
    withPollution({ sub: "agent-1" }, () => {
      expect(resultFor({ actors: "any" }, { act: {} })).toBe(REFUSED);
      for (const act of [null, {}, { client_id: "x" }]) expect(resultFor(LISTED, { act })).toBe(REFUSED);
    });
  });
});

describe("the condition `clients`", () => {
  const CLIENTS: Conditions = { clients: ["console", "worker"] };

  it.each([
    { client_id: "console" },
    { azp: "worker" },
    { cid: "console" },
    { client_id: "console", azp: "worker", cid: "console" },
  ])("allows %j", (claims) => {
    expect(resultFor(CLIENTS, claims)).toBe("allowed");
  });

  it.each([
    {},
    { client_id: "other" },
    { client_id: "console", azp: "other" },
    { client_id: "console", cid: null },
    { client_id: ["console"] },
    { client_id: "" },
    { client_id: "Console" },
    { clientId: "console" },
    { sub: "console" },
  ])("refuses %j", (claims) => {
    expect(resultFor(CLIENTS, claims)).toBe("caller_not_allowed clients");
  });
});

describe("the actors of a principal", () => {
  const principalOf = (claims: Readonly<Record<string, unknown>>) =>
    explain(createServer(), { method: "GET", path: "/agents", scopes: ["agents:read"], claims }).decision
      .principal;

  it("are a frozen chain, the current actor first", () => {
    const act = { sub: "b", iss: "https://a.test", client_id: "c", act: { sub: "a" } };
    const principal = principalOf({ act });
    expect(principal?.actor).toEqual({ sub: "b", issuer: "https://a.test", clientId: "c" });
    expect(principal?.delegation).toEqual([principal?.actor, { sub: "a" }]);
    expect(Object.isFrozen(principal?.delegation)).toBe(true);
    expect(Object.isFrozen(principal?.actor)).toBe(true);
  });

  it.each([{}, { act: null }, { act: { sub: 1 } }])("are omitted for %j", (claims) => {
    expect(principalOf(claims)).not.toHaveProperty("actor");
    expect(principalOf(claims)).not.toHaveProperty("delegation");
  });
});
