import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { allow, refuse } from "../../../src/core/policy/decision.ts";
import type { Requirement } from "../../../src/core/policy/requirement.ts";
import { decideRouteScopes } from "../../../src/core/policy/route-scopes.ts";
import { callerWith, changeable, matchOf, SCOPE_RULES, tableOf } from "../../support/policy.ts";

const rulesFor = (requirement: Requirement) =>
  matchOf(tableOf({ "GET /agents/:id": requirement }), "GET", "/agents/web").compiled.asList;

/** The decision about a caller whom the table allows. */
const letIn = (...scopes: readonly string[]) => allow(rulesFor([]), callerWith(...scopes));

describe("decideRouteScopes", () => {
  it("requires all scopes of the route, with its parameters filled in", () => {
    const asked = ["agents:<id>:run", "openid"];
    const params = { id: "web" };
    expect(decideRouteScopes(letIn("agents:web:run", "openid"), asked, params, SCOPE_RULES)).toMatchObject({
      allowed: true,
      required: ["agents:web:run", "openid"],
    });
    expect(decideRouteScopes(letIn("agents:api:run", "openid"), asked, params, SCOPE_RULES)).toMatchObject({
      allowed: false,
      reason: "scope_insufficient",
      missing: ["agents:web:run"],
      rule: { key: "GET /agents/:id" },
    });
  });

  it("returns a refusal unchanged, whatever its caller holds", () => {
    const principal = callerWith("agents:run");
    const revoked = refuse("token_rejected", rulesFor([]), { principal, rejection: "revoked" });
    for (const rules of [SCOPE_RULES, null]) {
      expect(decideRouteScopes(revoked, ["agents:run"], {}, rules)).toBe(revoked);
      expect(decideRouteScopes(revoked, [], {}, rules)).toBe(revoked);
    }
  });

  it.each([
    ["web:admin", ["agents:web:admin", "agents:web:admin:run", "agents:web:run"]],
    ["*", ["agents:web:run"]],
    ["", ["agents::run", "agents:web:run"]],
  ])("does not let the parameter %j add parts to a scope", (id, granted) => {
    const decide = (...scopes: readonly string[]) =>
      decideRouteScopes(letIn(...scopes), ["agents:<id>:run"], { id }, SCOPE_RULES).allowed;
    expect(decide(...granted)).toBe(false);
    expect(decide("agents:*:run")).toBe(true);
  });

  it("joins the segments of a wildcard", () => {
    const decision = decideRouteScopes(letIn(), ["files:<path>:read"], { path: ["a", "b"] }, SCOPE_RULES);
    expect(decision.required).toEqual(["files:a/b:read"]);
  });

  it("refuses a caller without a token", () => {
    expect(decideRouteScopes(allow(rulesFor("optional")), ["a:b"], {}, SCOPE_RULES)).toMatchObject({
      allowed: false,
      reason: "credential_missing",
      rule: { key: "GET /agents/:id" },
    });
    expect(decideRouteScopes(allow(), ["a:b"], {}, SCOPE_RULES)).toMatchObject({
      allowed: false,
      reason: "credential_missing",
    });
    expect(decideRouteScopes(allow(), ["a:b"], {}, null)).toMatchObject({ allowed: false });
  });

  it("checks no scopes without scope rules, but still requires a token", () => {
    const decision = letIn();
    const { rule, principal } = decision;
    expect(decideRouteScopes(decision, ["a:b"], {}, null)).toMatchObject({
      allowed: true,
      required: [],
      rule,
      principal,
    });
  });

  it("throws on a public route, which could never allow anyone", () => {
    const rules = rulesFor("public");
    for (const scopeRules of [SCOPE_RULES, null])
      expect(() => decideRouteScopes(allow(rules), ["a:b"], {}, scopeRules)).toThrow("is public");
  });

  it.each([
    [undefined],
    [{}],
    [{ ID: "web" }],
    [{ id: undefined }],
    [Object.create({ id: "web" }) as Record<string, string>],
  ])("throws for a scope that names no parameter of its route: %j", (params) => {
    const run = () => decideRouteScopes(letIn("agents:*:run"), ["agents:<id>:run"], params, SCOPE_RULES);
    expect(run).toThrow("<id>");
  });

  it("throws for a scope that no token can be granted", () => {
    for (const scope of ["", "a b", "agents::read", "agents:x<id>:read"]) {
      const run = () => decideRouteScopes(letIn("platform:admin"), [scope], { id: "x" }, SCOPE_RULES);
      expect(run, scope).toThrow(ConfigurationError);
    }
  });

  it("compiles an array again unless it is frozen, because it may have changed", () => {
    const scopes = ["a:b"];
    const isAllowed = (list: readonly string[]) =>
      decideRouteScopes(letIn("a:b"), list, {}, SCOPE_RULES).allowed;
    expect(isAllowed(scopes)).toBe(true);
    scopes[0] = "c:d";
    expect(isAllowed(scopes)).toBe(false);
    scopes.pop();
    expect(isAllowed(scopes)).toBe(true);
    scopes.push("c:d");
    Object.freeze(scopes);
    expect([isAllowed(scopes), isAllowed(scopes)]).toEqual([false, false]);
    expect(isAllowed(Object.freeze(["a:b"]))).toBe(true);
  });

  it("returns a frozen decision", () => {
    expect(changeable(decideRouteScopes(letIn(), ["a:b"], {}, SCOPE_RULES))).toEqual([]);
    expect(changeable(decideRouteScopes(letIn("a:b"), ["a:b"], {}, SCOPE_RULES))).toEqual([]);
  });
});
