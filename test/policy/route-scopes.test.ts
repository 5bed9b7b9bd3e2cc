import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/errors.ts";
import { allow, refuse } from "../../src/policy/decision.ts";
import { type Requirement } from "../../src/policy/requirement.ts";
import { decideRouteScopes } from "../../src/policy/route-scopes.ts";
import { callerWith, changeable, matchOf, SCOPE_RULES, tableOf } from "../support/policy.ts";

const ruleFor = (requirement: Requirement) =>
  matchOf(tableOf({ "GET /agents/:id": requirement }), "GET", "/agents/web").compiled.rule;

/** The decision about a caller whom the table let in. */
const letIn = (...scopes: readonly string[]) =>
  allow({ rule: ruleFor([]), principal: callerWith(...scopes) });

describe("decideRouteScopes", () => {
  it("asks for all of the route's scopes, its parameters filled in", () => {
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

  it("leaves a refusal as it is, whatever its caller holds", () => {
    const principal = callerWith("agents:run");
    const revoked = refuse("token_rejected", { rule: ruleFor([]), principal, rejection: "revoked" });
    for (const rules of [SCOPE_RULES, null]) {
      expect(decideRouteScopes(revoked, ["agents:run"], {}, rules)).toBe(revoked);
      expect(decideRouteScopes(revoked, [], {}, rules)).toBe(revoked);
    }
  });

  it.each([
    ["web:admin", ["agents:web:admin", "agents:web:admin:run", "agents:web:run"]],
    ["*", ["agents:web:run"]],
    ["", ["agents::run", "agents:web:run"]],
  ])("takes no segment that the parameter %j would smuggle in", (id, granted) => {
    const decide = (...scopes: readonly string[]) =>
      decideRouteScopes(letIn(...scopes), ["agents:<id>:run"], { id }, SCOPE_RULES).allowed;
    expect(decide(...granted)).toBe(false);
    expect(decide("agents:*:run")).toBe(true);
  });

  it("joins the segments of a wildcard", () => {
    const decision = decideRouteScopes(letIn(), ["files:<path>:read"], { path: ["a", "b"] }, SCOPE_RULES);
    expect(decision.required).toEqual(["files:a/b:read"]);
  });

  it("asks a caller without a token for one", () => {
    expect(decideRouteScopes(allow({ rule: ruleFor("optional") }), ["a:b"], {}, SCOPE_RULES)).toMatchObject({
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

  it("checks no scopes without rules for them, but still asks for a token", () => {
    const decision = letIn();
    const { rule, principal } = decision;
    expect(decideRouteScopes(decision, ["a:b"], {}, null)).toMatchObject({
      allowed: true,
      required: [],
      rule,
      principal,
    });
  });

  it("throws on a public route, which could never let anyone in", () => {
    const decision = allow({ rule: ruleFor("public") });
    expect(() => decideRouteScopes(decision, ["a:b"], {}, SCOPE_RULES)).toThrow("is public");
  });

  it.each([
    [undefined],
    [{}],
    [{ ID: "web" }],
    [{ id: undefined }],
    [Object.create({ id: "web" }) as object],
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

  it("asks what the list says now: only a frozen one is the same for ever", () => {
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

  it("is frozen, whatever it says", () => {
    expect(changeable(decideRouteScopes(letIn(), ["a:b"], {}, SCOPE_RULES))).toEqual([]);
    expect(changeable(decideRouteScopes(letIn("a:b"), ["a:b"], {}, SCOPE_RULES))).toEqual([]);
  });
});
