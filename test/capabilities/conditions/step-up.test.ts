import { describe, expect, it } from "vitest";
import { explain } from "scopegate/explain";
import { conditionIssues, decide, resultFor, resultOf } from "../../support/conditions.ts";
import { createServer, NOW } from "../../support/resource-servers.ts";

const USER = { sub: "u1" };
const STEP_UP = "authentication_insufficient";

describe("the condition `acr`", () => {
  const acr = { anyOf: ["urn:mfa", "urn:phishing-resistant"] };

  it("accepts one of its values", () => {
    expect(resultFor({ acr }, { ...USER, acr: "urn:mfa" })).toBe("allowed");
  });

  it.each(
    (
      [
        undefined,
        null,
        "",
        "urn:MFA",
        ["urn:mfa"],
        { value: "urn:mfa" },
        "urn:mfa urn:other",
        2,
      ] as readonly unknown[]
    ).map((value): readonly [unknown] => [value]),
  )("refuses the acr %j", (value) => {
    expect(resultFor({ acr }, { ...USER, acr: value })).toBe(`${STEP_UP} acr`);
  });

  it.each([
    [undefined, "isn't a condition on the login"],
    [["urn:mfa"], "isn't a condition on the login"],
    [{ anyOf: [] }, "isn't a condition on the login"],
    [{ allOf: ["urn:mfa"] }, "isn't a condition on the login"],
    [{ anyOf: ["mfa"] }, "a value of the claim `amr` (RFC 8176)"],
    [{ anyOf: ["urn:mfa", "pwd"] }, "a value of the claim `amr` (RFC 8176)"],
    [{ anyOf: ["urn:a urn:b"] }, "which a challenge can't contain"],
    [{ anyOf: ['a"b'] }, "which a challenge can't contain"],
    [{ anyOf: ["é"] }, "which a challenge can't contain"],
  ])("rejects %j", (written, text) => {
    expect(conditionIssues({ acr: written }).join()).toContain(text);
  });
});

describe("the condition `maxAuthAgeSeconds`", () => {
  const conditions = { maxAuthAgeSeconds: 300 };

  it.each([NOW, NOW - 1, NOW - 300])("accepts the auth_time %d", (auth_time) => {
    expect(resultFor(conditions, { ...USER, auth_time })).toBe("allowed");
  });

  it.each(
    (
      [
        undefined,
        null,
        NOW - 301,
        NOW + 1,
        -Infinity,
        Infinity,
        NaN,
        String(NOW),
        [NOW],
        { seconds: NOW },
        NOW * 1000,
        true,
      ] as readonly unknown[]
    ).map((authTime): readonly [unknown] => [authTime]),
  )("refuses the auth_time %j", (auth_time) => {
    expect(resultFor(conditions, { ...USER, auth_time })).toBe(`${STEP_UP} maxAuthAgeSeconds`);
  });

  it("accepts a single second", () => {
    expect(resultFor({ maxAuthAgeSeconds: 1 }, { ...USER, auth_time: NOW - 1 })).toBe("allowed");
    expect(resultFor({ maxAuthAgeSeconds: 1 }, { ...USER, auth_time: NOW - 2 })).toBe(
      `${STEP_UP} maxAuthAgeSeconds`,
    );
  });

  it("tolerates the clock difference of the option in both directions", () => {
    const server = createServer({
      clockToleranceSeconds: 5,
      scopeMappings: { "GET /x": { scopes: [], ...conditions } },
    });
    const resultAt = (auth_time: number) =>
      resultOf(
        explain(server, { method: "GET", path: "/x", scopes: [], claims: { ...USER, auth_time } }).decision,
      );
    expect([NOW + 5, NOW - 305].map(resultAt)).toEqual(["allowed", "allowed"]);
    expect([NOW + 6, NOW - 306].map(resultAt)).toEqual(
      Array.from({ length: 2 }, () => `${STEP_UP} maxAuthAgeSeconds`),
    );
  });

  it.each(
    ([undefined, 0, -1, 1.5, NaN, Infinity, "300", [300]] as readonly unknown[]).map(
      (age): readonly [unknown] => [age],
    ),
  )("rejects %j", (maxAuthAgeSeconds) => {
    expect(conditionIssues({ maxAuthAgeSeconds }).join()).toContain("isn't an age");
  });
});

describe("a refused login", () => {
  it.each([{}, { sub: "worker", client_id: "worker" }, { sub: "a", client_id: "b", azp: "a" }, { sub: "" }])(
    "refuses finally for %j: nobody can log in again",
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
    expect(decide(table, "POST /pay/refunds", USER)).toMatchObject({
      reason: STEP_UP,
      condition: "acr",
      acrValues: ["urn:b"],
      maxAgeSeconds: 600,
    });
  });

  it("sends a challenge with the values of the user's next login (RFC 9470 section 3)", () => {
    const server = createServer({
      scopeMappings: { "GET /x": { scopes: [], acr: { anyOf: ["urn:a", "urn:b"] }, maxAuthAgeSeconds: 600 } },
    });
    const { decision } = explain(server, { method: "GET", path: "/x", scopes: [], claims: USER });
    if (decision.allowed) throw new Error("The request is allowed.");
    const { status, headers, problem } = server.refuse(decision);
    expect(status).toBe(401);
    expect(headers["WWW-Authenticate"]).toBe(
      'Bearer error="insufficient_user_authentication", error_description="The user must log in again, recently or more strongly, for this operation.", acr_values="urn:a urn:b", max_age="600"',
    );
    expect(problem).toEqual({
      type: "about:blank",
      title: "Unauthorized",
      status: 401,
      detail: "The user must log in again, recently or more strongly, for this operation.",
      code: "authentication_insufficient",
    });
  });
});
