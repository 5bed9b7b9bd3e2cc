import { describe, expect, it } from "vitest";
import {
  allow,
  decideByRules,
  decideByScopes,
  type Decision,
  refuse,
} from "../../../src/core/policy/decision.ts";
import type { Requirement } from "../../../src/core/policy/requirement.ts";
import { compileScopeList } from "../../../src/core/scopes/required-scope.ts";
import { createPrincipal } from "../../../src/core/token/principal.ts";
import type { Rule } from "../../../src/core/policy/rule.ts";
import {
  callerWith,
  changeable,
  matchesOf,
  matchOf,
  ADMIN_RULES,
  SCOPE_RULES,
  scopeRulesOf,
  tableOf,
} from "../../support/policy.ts";

// `test/model` has which callers are allowed. These are the facts that a decision lists for them.

/** The decision about `GET /agents/web`, or about `GET /agents`, for a caller with these scopes. */
function decide(requirement: Requirement, ...granted: readonly string[]): Decision {
  const isList = JSON.stringify(requirement).includes("<any>");
  const table = tableOf({ [`GET /agents${isList ? "" : "/:id"}`]: requirement });
  const match = matchOf(table, "GET", isList ? "/agents" : "/agents/web");
  return decideByRules([match], callerWith(...granted), ADMIN_RULES);
}

describe("a decision", () => {
  const ALL = ["agents:read", "teams:read"];

  it.each<[Requirement, readonly string[], readonly string[], readonly string[]]>([
    [[], [], [], []],
    ["public", ["a:b"], [], []],
    ["optional", ["a:b"], [], []],
    [ALL, ["teams:read", "agents:*:read"], ["agents:*:read wildcard", "teams:read exact"], []],
    [ALL, ["agents:read"], ["agents:read exact"], ["teams:read"]],
    [ALL, [], [], ALL],
    [{ anyOf: ALL }, ["teams:read"], ["teams:read exact"], []],
    [{ anyOf: ALL }, ["agents:web:read"], [], ALL],
    [["agents:<id>:run"], ["agents:web:run"], ["agents:web:run exact"], []],
    [["agents:<id>:run"], ["agents:run"], ["agents:run resource-wide"], []],
    [["agents:<id>:run"], ["platform:admin"], ["platform:admin admin"], []],
    [["agents:<id>:run"], ["agents:api:run"], [], ["agents:web:run"]],
    [["agents:<any>:read"], ["x", "agents:b:read", "agents:a:read"], ["agents:b:read some-ids"], []],
    [["agents:<any>:read"], ["agents:api:run"], [], ["agents:read"]],
  ])("lists for %j and the scopes %j those that satisfy it, %j, and the missing %j", (...row) => {
    const [requirement, granted, satisfied, missing] = row;
    const decision = decide(requirement, ...granted);
    expect(decision).toMatchObject({ allowed: missing.length === 0, granted, missing });
    expect(decision.satisfied.map(({ granted: scope, by }) => `${scope} ${by}`)).toEqual(satisfied);
    if (!decision.allowed) expect(decision.reason).toBe("scope_insufficient");
  });

  it("shares the rule and the principal, and lists the scopes as the token does", () => {
    const match = matchOf(tableOf({ "GET /a": ["x:y"] }), "GET", "/a");
    const principal = callerWith("b:c", "a b", "", "b:c");
    const decision = decideByRules([match], principal, SCOPE_RULES);
    expect(decision.rule).toBe(match.compiled.rule);
    expect(decision.principal).toBe(principal);
    expect(decision.granted).toEqual(["b:c", "a b", "", "b:c"]);
  });

  const principal = callerWith("agents:read");
  const NO_RULES: readonly Rule[] = Object.freeze([]);

  it.each<[string, () => Decision]>([
    ["allowed by an exact scope", () => decide(["agents:read"], "agents:read")],
    ["allowed for some ids", () => decide(["agents:<any>:read"], "agents:web:read")],
    ["refused by scopes", () => decide(["agents:run", "agents:<id>:run"])],
    ["of a public route", () => decide("public", "a:b")],
    [
      "by scopes in code",
      () =>
        decideByScopes(compileScopeList(["x:y"], "any"), () => "", SCOPE_RULES, {
          rules: NO_RULES,
          principal,
        }),
    ],
    ["allow()", () => allow()],
    ["refuse(reason)", () => refuse("route_unmapped")],
    ["refuse(reason, facts)", () => refuse("token_rejected", NO_RULES, { principal, rejection: "expired" })],
  ])("freezes everything in it: %s", (_, decideNow) => {
    expect(changeable(decideNow())).toEqual([]);
  });

  it("contains without scopes only what it is created with", () => {
    const nothing = { rules: [], required: [], granted: [], missing: [], satisfied: [] };
    expect(allow()).toEqual({ allowed: true, ...nothing });
    expect(allow([], principal)).toMatchObject({ allowed: true, granted: ["agents:read"], principal });
    const cause = new Error("no route to host");
    expect(refuse("keys_unavailable", [], { cause })).toEqual({
      allowed: false,
      reason: "keys_unavailable",
      ...nothing,
      cause,
    });
  });

  it("refuses whatever facts it is created with", () => {
    const facts = { allowed: true, reason: "scope_insufficient", principal };
    expect(refuse("token_rejected", [], facts)).toMatchObject({
      allowed: false,
      reason: "token_rejected",
      granted: ["agents:read"],
    });
  });
});

describe("a decision by several rules", () => {
  const table = tableOf({
    "GET /agents/me": ["me:read", "agents:read"],
    "GET /agents/:id": ["agents:<id>:read", "agents:read"],
    "GET /open": "public",
  });
  const both = matchesOf(table, "GET", "/agents/ME");
  const required = ["me:read", "agents:read", "agents:ME:read"];

  it.each([
    [["me:read", "agents:read"], "GET /agents/me", []],
    [["agents:read"], "GET /agents/me", ["me:read"]],
    [["agents:ME:read"], "GET /agents/me", ["me:read", "agents:read"]],
    [[], "GET /agents/me", required],
  ])(
    "lists for the scopes %j all rules, names %s, and lists each missing scope once",
    (scopes, key, missing) => {
      const decision = decideByRules(both, callerWith(...scopes), SCOPE_RULES);
      expect(decision).toMatchObject({ allowed: missing.length === 0, rule: { key }, required, missing });
      expect(decision.rules.map((rule) => rule.key)).toEqual(["GET /agents/me", "GET /agents/:id"]);
      expect(changeable(decision)).toEqual([]);
    },
  );

  it("names the first rule that fails", () => {
    const matches = [...matchesOf(table, "GET", "/open"), ...both];
    expect(decideByRules(matches, callerWith("agents:read"), SCOPE_RULES).rule?.key).toBe("GET /agents/me");
  });

  it("allows a valid token where there is no rule", () => {
    expect(decideByRules([], callerWith("x:y"), SCOPE_RULES)).toMatchObject({ allowed: true, rules: [] });
  });
});

describe("decideByScopes", () => {
  const { rule } = matchOf(tableOf({ "GET /a": [] }), "GET", "/a").compiled;
  const decideList = (scopes: readonly string[], granted: readonly string[], rules: readonly Rule[] = []) =>
    decideByScopes(compileScopeList(scopes, "any"), (name) => `${name}-of-request`, SCOPE_RULES, {
      principal: callerWith(...granted),
      rules,
    });

  it("requires all of the scopes, with the parameters of the request filled in", () => {
    const required = ["agents:id-of-request:run", "openid"];
    expect(decideList(["agents:<id>:run", "openid"], required)).toMatchObject({ allowed: true, required });
    expect(decideList(["agents:<id>:run", "openid"], ["openid", "agents:<id>:run"])).toMatchObject({
      allowed: false,
      reason: "scope_insufficient",
      missing: ["agents:id-of-request:run"],
    });
  });

  it.each([[[]], [["a:b"]]])("names the rule that allowed the request, if there is one: %j", (granted) => {
    expect(decideList(["a:b"], granted, [rule]).rule).toBe(rule);
    expect(decideList(["a:b"], granted)).not.toHaveProperty("rule");
  });
});

describe("a principal of another server", () => {
  const elsewhere = scopeRulesOf({ "agents:write": ["agents:read"] }, "root");
  const principalOf = (scope: string, rules = ADMIN_RULES) =>
    createPrincipal({ scopes: [scope], audience: [], claims: {} }, rules);
  const isAllowed = (principal: ReturnType<typeof principalOf>, rules = ADMIN_RULES) =>
    decideByRules([matchOf(tableOf({ "GET /a": ["agents:read"] }), "GET", "/a")], principal, rules).allowed;

  it("satisfies or fails the rules of the deciding server, not of the server that created it", () => {
    expect(isAllowed(principalOf("root", elsewhere))).toBe(false);
    expect(isAllowed(principalOf("agents:write", elsewhere))).toBe(false);
    expect(isAllowed(principalOf("platform:admin", elsewhere))).toBe(true);
    expect(isAllowed(principalOf("platform:admin"), SCOPE_RULES)).toBe(false);
    expect(isAllowed(principalOf("agents:write"), elsewhere)).toBe(true);
  });

  it("uses only its scopes, whatever its own methods return", () => {
    const byHand = { ...principalOf("agents:run"), has: () => true, resourceIds: () => "all" as const };
    expect(isAllowed(byHand)).toBe(false);
    expect(isAllowed({ ...byHand, scopes: ["agents:read"] })).toBe(true);
  });
});
