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
import { isScopeToken } from "../../../src/core/scopes/scope.ts";
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

/** The decision about `GET /agents/:agent_id/:other`, or about a list, for a caller with these scopes. */
function decide(requirement: Requirement, granted: readonly string[], target = "/agents/web/x"): Decision {
  const isList = JSON.stringify(requirement).includes("<any>");
  const table = tableOf({ [`GET /agents/:agent_id/${isList ? "x" : ":other"}`]: requirement });
  return decideByRules([matchOf(table, "GET", target)], callerWith(...granted), ADMIN_RULES);
}

describe("a rule that requires all of several scopes", () => {
  const requirement = ["agents:read", "teams:read"];

  it("allows a caller who holds all of them", () => {
    const decision = decide(requirement, ["teams:read", "agents:*:read", "openid"]);
    expect(decision).toMatchObject({
      allowed: true,
      required: requirement,
      granted: ["teams:read", "agents:*:read", "openid"],
      missing: [],
      satisfied: [
        { required: "agents:read", granted: "agents:*:read", by: "wildcard" },
        { required: "teams:read", granted: "teams:read", by: "exact" },
      ],
    });
    expect(decision).not.toHaveProperty("reason");
  });

  it.each([
    [["agents:read"], ["teams:read"]],
    [["teams:read"], ["agents:read"]],
    [["agents:web:read", "teams:read"], ["agents:read"]],
    [[], ["agents:read", "teams:read"]],
    [
      ["agents:write", "Teams:read", "agents::read"],
      ["agents:read", "teams:read"],
    ],
  ])("refuses %j and reports %j as missing", (granted, missing) => {
    const decision = decide(requirement, granted);
    expect(decision).toMatchObject({
      allowed: false,
      reason: "scope_insufficient",
      required: requirement,
      missing,
    });
    expect(decision.satisfied.map(({ required }) => required)).toEqual(
      requirement.filter((scope) => !missing.includes(scope)),
    );
  });

  it("allows every valid token when it requires no scope", () => {
    expect(decide([], [])).toMatchObject({ allowed: true, required: [], missing: [], satisfied: [] });
  });
});

describe("a rule that requires any of several scopes", () => {
  const requirement = { anyOf: ["agents:read", "teams:read"] };

  it.each([[["agents:read"]], [["teams:read"]], [["agents:read", "teams:read"]], [["platform:admin"]]])(
    "allows %j and reports nothing as missing",
    (granted) => {
      const decision = decide(requirement, granted);
      expect(decision).toMatchObject({ allowed: true, required: ["agents:read", "teams:read"], missing: [] });
      expect(decision.satisfied.length).toBeGreaterThan(0);
    },
  );

  it.each([[[]], [["agents:web:read"]], [["agents:write"]]])(
    "refuses %j and reports every alternative as missing",
    (granted) => {
      expect(decide(requirement, granted)).toMatchObject({
        allowed: false,
        reason: "scope_insufficient",
        required: ["agents:read", "teams:read"],
        missing: ["agents:read", "teams:read"],
        satisfied: [],
      });
    },
  );
});

describe("a rule that requires a scope for some id", () => {
  const requirement = ["agents:<any>:read"];

  it.each([
    [["agents:read"], "agents:read", "exact"],
    [["agents:api:read"], "agents:api:read", "some-ids"],
    [["openid", "agents:api:read", "agents:web:read"], "agents:api:read", "some-ids"],
  ])("allows %j by %s (%s)", (scopes, granted, by) => {
    expect(decide(requirement, scopes)).toMatchObject({
      allowed: true,
      required: ["agents:read"],
      missing: [],
      satisfied: [{ required: "agents:read", granted, by }],
    });
  });

  it.each([
    [
      ["agents:<any>:read", "teams:read"],
      ["agents:api:read", "teams:read"],
      ["agents:api:read"],
      ["teams:read"],
    ],
    [{ anyOf: ["agents:<any>:read", "teams:read"] }, ["agents:api:read"], [], ["agents:read", "teams:read"]],
    [["agents:<any>:read", "agents:read"], ["agents:read"], ["agents:api:read"], ["agents:read"]],
  ] satisfies (readonly [Requirement, string[], string[], string[]])[])(
    "combines with other scopes: %j allows %j, and of %j requires %j",
    (combined, enough, granted, missing) => {
      expect(decide(combined, enough).allowed).toBe(true);
      expect(decide(combined, granted)).toMatchObject({ allowed: false, missing });
    },
  );

  it.each([[[]], [["agents:api:run"]]])("refuses %j, which grants no id", (scopes) => {
    expect(decide(requirement, scopes)).toMatchObject({
      allowed: false,
      reason: "scope_insufficient",
      required: ["agents:read"],
      missing: ["agents:read"],
      satisfied: [],
    });
  });
});

describe("a rule that requires no scope", () => {
  it.each(["public", "optional"] as const)("allows every caller: %s", (requirement) => {
    const decision = decide(requirement, []);
    expect(decision).toMatchObject({ allowed: true, required: [], missing: [], satisfied: [] });
    expect(decision.principal).toBeDefined();
  });
});

describe("a rule with a parameter in its scope", () => {
  const requirement = ["agents:<agent_id>:run"];

  it.each([
    ["agents:web:run", "exact"],
    ["agents:*:run", "wildcard"],
    ["agents:run", "resource-wide"],
    ["platform:admin", "admin"],
  ])("allows the id of the request with %s (%s)", (granted, by) => {
    expect(decide(requirement, [granted])).toMatchObject({
      allowed: true,
      required: ["agents:web:run"],
      satisfied: [{ required: "agents:web:run", granted, by }],
    });
  });

  it("requires the scope of the requested id, and refuses that of another id", () => {
    expect(decide(requirement, ["agents:web:run"], "/agents/api/x")).toMatchObject({
      allowed: false,
      required: ["agents:api:run"],
      missing: ["agents:api:run"],
      granted: ["agents:web:run"],
    });
  });

  it("uses the parameter by its name, not by its place", () => {
    expect(decide(["agents:<other>:run"], ["agents:x:run"]).allowed).toBe(true);
    expect(decide(["agents:<other>:run"], ["agents:web:run"]).allowed).toBe(false);
  });

  it.each([
    [
      "/agents/web%3Aadmin/x",
      ["agents:web:admin", "agents:web:run", "agents:web:admin:run", "agents:admin:run"],
    ],
    ["/agents/%2A/x", ["agents:web:run", "agents:**:run"]],
    ["/agents/*/x", ["agents:web:run"]],
    ["/agents/Web/x", ["agents:web:run"]],
    ["/agents/caf%C3%A9/x", ["agents:café:run", "agents:caf%C3%A9:run"]],
    ["/agents/%22/x", ['agents:":run', "agents:%22:run"]],
    [`/agents/${"x".repeat(201)}/x`, ["agents:x:run"]],
  ])("refuses at %s the scopes %j", (target, granted) => {
    const decision = decide(requirement, granted, target);
    expect(decision.allowed).toBe(false);
    expect(decision.missing.every(isScopeToken)).toBe(true);
    expect(decide(requirement, ["agents:*:run"], target).allowed).toBe(true);
  });
});

describe("decideByScopes", () => {
  const parameter = (name: string) => `${name}-of-request`;
  const decideList = (scopes: readonly string[], granted: readonly string[], rule?: Rule) =>
    decideByScopes(compileScopeList(scopes, "any"), parameter, SCOPE_RULES, {
      principal: callerWith(...granted),
      rules: rule ? [rule] : [],
    });

  it("requires all of the scopes, with the parameters of the request filled in", () => {
    const required = ["agents:id-of-request:run", "openid"];
    const met = decideList(["agents:<id>:run", "openid"], required);
    expect(met).toMatchObject({ allowed: true, required });
    expect(met).not.toHaveProperty("rule");
    expect(decideList(["agents:<id>:run", "openid"], ["openid"])).toMatchObject({
      allowed: false,
      reason: "scope_insufficient",
      missing: ["agents:id-of-request:run"],
    });
    expect(decideList(["agents:<id>:run"], ["agents:<id>:run"]).allowed).toBe(false);
  });

  it("names the rule that allowed the request, where there is one", () => {
    const { rule } = matchOf(tableOf({ "GET /a": [] }), "GET", "/a").compiled;
    expect(decideList(["a:b"], [], rule).rule).toBe(rule);
    expect(decideList(["a:b"], ["a:b"], rule).rule).toBe(rule);
  });
});

describe("a principal of another server", () => {
  const made = (scopes: readonly string[], rules = ADMIN_RULES) =>
    createPrincipal({ scopes, audience: [], claims: {} }, rules);
  const isAllowed = (principal: ReturnType<typeof made>, rules = ADMIN_RULES) =>
    decideByRules([matchOf(tableOf({ "GET /a": ["agents:read"] }), "GET", "/a")], principal, rules).allowed;

  it("satisfies or fails the rules of the deciding server, not of the server that created it", () => {
    const elsewhere = scopeRulesOf({ "agents:write": ["agents:read"] }, "root");
    expect(isAllowed(made(["root"], elsewhere))).toBe(false);
    expect(isAllowed(made(["agents:write"], elsewhere))).toBe(false);
    expect(isAllowed(made(["agents:read"], elsewhere))).toBe(true);
    expect(isAllowed(made(["platform:admin"], elsewhere))).toBe(true);
    expect(isAllowed(made(["platform:admin"]), SCOPE_RULES)).toBe(false);
    expect(isAllowed(made(["agents:write"]), elsewhere)).toBe(true);
  });

  it("uses only its scopes, whatever its own methods return", () => {
    const byHand = { ...made(["agents:run"]), has: () => true, resourceIds: () => "all" as const };
    expect(isAllowed(byHand)).toBe(false);
    expect(isAllowed({ ...byHand, scopes: ["agents:read"] })).toBe(true);
  });
});

describe("a decision", () => {
  it("shares the rule and the principal, and lists the scopes as the token does", () => {
    const table = tableOf({ "GET /a": ["x:y"] });
    const match = matchOf(table, "GET", "/a");
    const principal = callerWith("b:c", "a b", "", "b:c");
    const decision = decideByRules([match], principal, SCOPE_RULES);
    expect(decision.rule).toBe(match.compiled.rule);
    expect(decision.principal).toBe(principal);
    expect(decision.granted).toEqual(["b:c", "a b", "", "b:c"]);
  });

  const principal = callerWith("agents:read");
  const NO_RULES: readonly Rule[] = Object.freeze([]);
  const decisions: readonly (readonly [string, () => Decision])[] = [
    ["allowed by an exact scope", () => decide(["agents:read"], ["agents:read"])],
    ["allowed for some ids", () => decide(["agents:<any>:read"], ["agents:web:read"])],
    ["refused by scopes", () => decide(["agents:run", "agents:<agent_id>:run"], [])],
    ["of a public route", () => decide("public", ["a:b"])],
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
  ];

  it.each(decisions)("freezes everything in it: %s", (_, decideNow) => {
    expect(changeable(decideNow())).toEqual([]);
  });

  it("does not freeze or share the arrays of the compiled rule", () => {
    const table = tableOf({ "GET /a": ["x:y"] });
    const match = matchOf(table, "GET", "/a");
    const [one, two] = [callerWith("x:y"), callerWith()].map((caller) =>
      decideByRules([match], caller, SCOPE_RULES),
    );
    expect(one).toMatchObject({ allowed: true, granted: ["x:y"] });
    expect(two).toMatchObject({ allowed: false, granted: [], missing: ["x:y"] });
  });
});

describe("refuse", () => {
  it.each(["token_rejected", "keys_unavailable"] as const)(
    "refuses, whatever facts are passed: %s",
    (reason) => {
      const facts = { allowed: true, principal: callerWith("platform:admin") };
      expect(refuse(reason, [], facts)).toMatchObject({
        allowed: false,
        reason,
        granted: ["platform:admin"],
        required: [],
        missing: [],
        satisfied: [],
      });
      expect(refuse(reason)).toMatchObject({ allowed: false, reason, granted: [] });
    },
  );

  it("keeps the rejection and the cause for the log", () => {
    const cause = new Error("no route to host");
    expect(refuse("keys_unavailable", [], { cause }).cause).toBe(cause);
    expect(refuse("token_rejected", [], { rejection: "expired" }).rejection).toBe("expired");
  });
});

describe("allow", () => {
  it("allows a request without a caller", () => {
    expect(allow()).toEqual({
      allowed: true,
      rules: [],
      required: [],
      granted: [],
      missing: [],
      satisfied: [],
    });
    expect(allow([], callerWith("a:b"))).toMatchObject({ allowed: true, granted: ["a:b"] });
  });
});

describe("decideByRules", () => {
  const table = tableOf({
    "GET /agents/me": ["me:read", "agents:read"],
    "GET /agents/:id": ["agents:<id>:read", "agents:read"],
    "GET /open": "public",
    "GET /:page": { anyOf: ["pages:read", "agents:read"] },
  });
  const both = matchesOf(table, "GET", "/agents/ME");
  const decideBoth = (...granted: readonly string[]) =>
    decideByRules(both, callerWith(...granted), SCOPE_RULES);

  it("allows a caller who satisfies all rules, and lists the scopes of all of them once", () => {
    const decision = decideBoth("me:read", "agents:read");
    expect(decision).toMatchObject({
      allowed: true,
      rule: { key: "GET /agents/me" },
      required: ["me:read", "agents:read", "agents:ME:read"],
      missing: [],
    });
    expect(decision.rules.map(({ key }) => key)).toEqual(["GET /agents/me", "GET /agents/:id"]);
    expect(changeable(decision)).toEqual([]);
  });

  it.each([
    [["agents:read"], "GET /agents/me", ["me:read"]],
    [["me:read", "agents:ME:read"], "GET /agents/me", ["agents:read"]],
    [["agents:ME:read"], "GET /agents/me", ["me:read", "agents:read"]],
    [[], "GET /agents/me", ["me:read", "agents:read", "agents:ME:read"]],
  ])("refuses a caller with %j, and names the first rule that fails: %s", (granted, key, missing) => {
    const decision = decideBoth(...granted);
    expect(decision).toMatchObject({ allowed: false, reason: "scope_insufficient", rule: { key }, missing });
    expect(decision.required).toEqual(["me:read", "agents:read", "agents:ME:read"]);
    expect(changeable(decision)).toEqual([]);
  });

  it("names the second rule where only that one fails", () => {
    const matches = [...matchesOf(table, "GET", "/open"), ...both];
    expect(decideByRules(matches, callerWith("agents:read"), SCOPE_RULES)).toMatchObject({
      allowed: false,
      rule: { key: "GET /agents/me" },
    });
  });

  it("does not let a scope of one rule satisfy another", () => {
    const matches = matchesOf(table, "GET", "/OPEN");
    expect(decideByRules(matches, callerWith("x:y"), SCOPE_RULES)).toMatchObject({
      allowed: false,
      rule: { key: "GET /:page" },
      missing: ["pages:read", "agents:read"],
    });
    expect(decideByRules(matches, callerWith("pages:read"), SCOPE_RULES)).toMatchObject({
      allowed: true,
      missing: [],
    });
  });

  it("allows a valid token where there is no rule", () => {
    expect(decideByRules([], callerWith("x:y"), SCOPE_RULES)).toMatchObject({ allowed: true, rules: [] });
  });
});
