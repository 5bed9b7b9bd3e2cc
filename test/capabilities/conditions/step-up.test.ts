import { describe, expect, it } from "vitest";
import { decide, resultFor, resultOf } from "../../support/conditions.ts";
import { NOW } from "../../support/resource-servers.ts";

// `conditions.test.ts` has the mistakes in conditions.

const USER = { sub: "u1" };
const STEP_UP = "authentication_insufficient";

describe("the condition `acr`", () => {
  const conditions = { acr: { anyOf: ["urn:mfa", "urn:phishing-resistant"] } };

  it("allows one of its values", () => {
    expect(resultFor(conditions, { ...USER, acr: "urn:mfa" })).toBe("allowed");
  });

  it("refuses another value, and another type", () => {
    for (const acr of [
      undefined,
      null,
      "",
      "urn:MFA",
      ["urn:mfa"],
      { value: "urn:mfa" },
      "urn:mfa urn:other",
      2,
    ])
      expect(resultFor(conditions, { ...USER, acr }), JSON.stringify(acr)).toBe(`${STEP_UP} acr`);
  });
});

describe("the condition `maxAuthAgeSeconds`", () => {
  const conditions = { maxAuthAgeSeconds: 300 };
  const TOO_OLD = `${STEP_UP} maxAuthAgeSeconds`;

  it.each([NOW, NOW - 1, NOW - 300])("allows the auth_time %d", (auth_time) => {
    expect(resultFor(conditions, { ...USER, auth_time })).toBe("allowed");
  });

  it.each<[string, readonly unknown[]]>([
    ["too old", [NOW - 301, -Infinity]],
    ["in the future", [NOW + 1, NOW * 1000, Infinity]],
    ["missing", [undefined, null]],
    ["no number", [NaN, String(NOW), [NOW], { seconds: NOW }, true]],
  ])("refuses an auth_time that is %s", (_, times) => {
    for (const auth_time of times)
      expect(resultFor(conditions, { ...USER, auth_time }), String(auth_time)).toBe(TOO_OLD);
  });

  it.each([
    [NOW + 5, "allowed"],
    [NOW - 305, "allowed"],
    [NOW + 6, TOO_OLD],
    [NOW - 306, TOO_OLD],
  ])("tolerates the clock difference of the option in both directions: %d %s", (auth_time, expected) => {
    const table = { "GET /x": { scopes: [], ...conditions } };
    const decision = decide(table, "GET /x", { ...USER, auth_time }, [], { clockToleranceSeconds: 5 });
    expect(resultOf(decision)).toBe(expected);
  });
});

describe("a refused login", () => {
  it.each([{}, { sub: "worker", client_id: "worker" }, { sub: "a", client_id: "b", azp: "a" }, { sub: "" }])(
    "is final for %j: nobody can log in again",
    (claims) => {
      expect(resultFor({ maxAuthAgeSeconds: 60 }, claims)).toBe("caller_not_allowed maxAuthAgeSeconds");
      expect(resultFor({ acr: { anyOf: ["urn:mfa"] } }, claims)).toBe("caller_not_allowed acr");
    },
  );

  it("names what satisfies every rule", () => {
    const table = {
      "* /pay{/*path}": { scopes: [], acr: { anyOf: ["urn:a", "urn:b"] }, maxAuthAgeSeconds: 600 },
      "POST /pay/refunds": { scopes: [], acr: { anyOf: ["urn:b", "urn:c"] }, maxAuthAgeSeconds: 900 },
    };
    expect(decide(table, "GET /pay", USER)).toMatchObject({
      acrValues: ["urn:a", "urn:b"],
      maxAgeSeconds: 600,
    });
    expect(decide(table, "POST /pay/refunds", USER)).toMatchObject({
      reason: STEP_UP,
      condition: "acr",
      acrValues: ["urn:b"],
      maxAgeSeconds: 600,
    });
  });
});
