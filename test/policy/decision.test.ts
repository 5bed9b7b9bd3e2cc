import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  allow,
  combine,
  decideByScopeList,
  decideByScopes,
  type Decision,
  refuse,
  type RefusalReason,
} from "../../src/policy/decision.ts";
import { type Requirement } from "../../src/policy/requirement.ts";
import { compileScopeList } from "../../src/scopes/required-scope.ts";
import { isScopeToken } from "../../src/scopes/scope.ts";
import { createPrincipal } from "../../src/token/principal.ts";
import { type Rule } from "../../src/policy/rule.ts";
import {
  callerWith,
  changeable,
  matchOf,
  PROPERTY,
  SCOPE_RULES,
  scopeRulesOf,
  tableOf,
} from "../support/policy.ts";
import { anyCharacter } from "../support/text.ts";

/** The decision about `GET /agents/:agent_id/:other` for a caller with these scopes. */
function decide(requirement: Requirement, granted: readonly string[], target = "/agents/web/x"): Decision {
  const table = tableOf({ "GET /agents/:agent_id/:other": requirement });
  return decideByScopes(matchOf(table, "GET", target), callerWith(...granted), SCOPE_RULES);
}

describe("a rule that asks for all of several scopes", () => {
  const requirement = ["agents:read", "teams:read"];

  it("is met by a caller who holds all of them", () => {
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
  ])("is not met with %j: %j is missing", (granted, missing) => {
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

  it("is met by every valid token when it asks for none", () => {
    expect(decide([], [])).toMatchObject({ allowed: true, required: [], missing: [], satisfied: [] });
  });

  it("is met by the admin scope", () => {
    expect(decide(requirement, ["platform:admin"])).toMatchObject({
      allowed: true,
      satisfied: [
        { required: "agents:read", by: "admin" },
        { required: "teams:read", by: "admin" },
      ],
    });
  });
});

describe("a rule that asks for any of several scopes", () => {
  const requirement = { anyOf: ["agents:read", "teams:read"] };

  it.each([[["agents:read"]], [["teams:read"]], [["agents:read", "teams:read"]], [["platform:admin"]]])(
    "is met with %j, and nothing is missing then",
    (granted) => {
      const decision = decide(requirement, granted);
      expect(decision).toMatchObject({ allowed: true, required: ["agents:read", "teams:read"], missing: [] });
      expect(decision.satisfied.length).toBeGreaterThan(0);
    },
  );

  it.each([[[]], [["agents:web:read"]], [["agents:write"]]])(
    "is not met with %j: each would do",
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

describe("a rule that asks for a filtered list", () => {
  const requirement = { filtered: "agents:read" };

  it.each([
    [["agents:read"], "agents:read", "exact"],
    [["agents:*:read"], "agents:*:read", "wildcard"],
    [["agents:api:read"], "agents:api:read", "some-ids"],
    [["openid", "agents:api:read", "agents:web:read"], "agents:api:read", "some-ids"],
    [["platform:admin"], "platform:admin", "admin"],
  ])("is met with %j, by %s (%s)", (scopes, granted, by) => {
    expect(decide(requirement, scopes)).toMatchObject({
      allowed: true,
      required: ["agents:read"],
      missing: [],
      satisfied: [{ required: "agents:read", granted, by }],
    });
  });

  it.each([[[]], [["agents:api:run"]], [["teams:api:read"]], [["agents::read"]], [["agents"]]])(
    "is not met with %j: not one id",
    (scopes) => {
      expect(decide(requirement, scopes)).toMatchObject({
        allowed: false,
        reason: "scope_insufficient",
        required: ["agents:read"],
        missing: ["agents:read"],
        satisfied: [],
      });
    },
  );

  it("is the only one that a single id satisfies", () => {
    expect(decide(["agents:read"], ["agents:api:read"]).allowed).toBe(false);
    expect(decide({ anyOf: ["agents:read"] }, ["agents:api:read"]).allowed).toBe(false);
  });
});

describe("a rule that asks for no scope", () => {
  it.each(["public", "optional"] as const)("%s lets every caller in", (requirement) => {
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
  ])("is met for the id of the request with %s (%s)", (granted, by) => {
    expect(decide(requirement, [granted])).toMatchObject({
      allowed: true,
      required: ["agents:web:run"],
      satisfied: [{ required: "agents:web:run", granted, by }],
    });
  });

  it("tells the scope of this very request, and no other id's will do", () => {
    expect(decide(requirement, ["agents:web:run"], "/agents/api/x")).toMatchObject({
      allowed: false,
      required: ["agents:api:run"],
      missing: ["agents:api:run"],
      granted: ["agents:web:run"],
    });
  });

  it("takes the parameter of its name, not of its place", () => {
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
  ])("is not met at %s with %j", (target, granted) => {
    const decision = decide(requirement, granted, target);
    expect(decision.allowed).toBe(false);
    expect(decision.missing.every(isScopeToken)).toBe(true);
    expect(decide(requirement, ["agents:*:run"], target).allowed).toBe(true);
  });

  it.each([
    [200, `agents:${"x".repeat(200)}:run`],
    [201, "agents:*:run"],
    [5000, "agents:*:run"],
  ])(
    "tells an id of %i characters so that a header can hold it, and compares all of it",
    (length, required) => {
      const id = "x".repeat(length);
      const refused = decide(requirement, [`agents:${id}y:run`], `/agents/${id}/x`);
      expect(refused).toMatchObject({ allowed: false, required: [required], missing: [required] });
      expect(decide(requirement, [`agents:${id}:run`], `/agents/${id}/x`).allowed).toBe(true);
    },
  );

  it("lists as missing what would have been enough", () => {
    const id = fc
      .string({ unit: anyCharacter, minLength: 1, maxLength: 6 })
      .filter((text) => !/[./\\\0]/.test(text));
    fc.assert(
      fc.property(id, (text) => {
        const table = tableOf({ "GET /agents/:agent_id": requirement });
        const { compiled } = matchOf(table, "GET", "/agents/web");
        const parameter = () => text;
        const refused = decideByScopes(
          { compiled, parameter },
          callerWith("agents:some-other-id:run"),
          SCOPE_RULES,
        );
        expect(refused.allowed).toBe(text === "some-other-id");
        const enough = decideByScopes({ compiled, parameter }, callerWith(...refused.missing), SCOPE_RULES);
        expect(enough.allowed).toBe(text !== "some-other-id");
      }),
      PROPERTY,
    );
  });
});

describe("decideByScopeList", () => {
  const parameter = (name: string) => `${name}-of-request`;
  const decideList = (scopes: readonly string[], granted: readonly string[], rule?: Rule) =>
    decideByScopeList(compileScopeList(scopes, "any"), parameter, SCOPE_RULES, {
      principal: callerWith(...granted),
      ...(rule && { rule }),
    });

  it("asks for all of the scopes, the request's parameters filled in", () => {
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

  it("names the rule that let the request in, where there is one", () => {
    const { rule } = matchOf(tableOf({ "GET /a": [] }), "GET", "/a").compiled;
    expect(decideList(["a:b"], [], rule).rule).toBe(rule);
    expect(decideList(["a:b"], ["a:b"], rule).rule).toBe(rule);
  });
});

describe("a principal of another server", () => {
  const made = (scopes: readonly string[], rules = scopeRulesOf()) =>
    createPrincipal({ scopes, audience: [], claims: {} }, rules);
  const isAllowed = (principal: ReturnType<typeof made>, rules = SCOPE_RULES) =>
    decideByScopes(matchOf(tableOf({ "GET /a": ["agents:read"] }), "GET", "/a"), principal, rules).allowed;

  it("is judged by the rules of the server that decides, not of the one that made it", () => {
    const elsewhere = scopeRulesOf({ "agents:write": ["agents:read"] }, "root");
    expect(isAllowed(made(["root"], elsewhere))).toBe(false);
    expect(isAllowed(made(["agents:write"], elsewhere))).toBe(false);
    expect(isAllowed(made(["agents:read"], elsewhere))).toBe(true);
    expect(isAllowed(made(["platform:admin"], elsewhere))).toBe(true);
    expect(isAllowed(made(["platform:admin"]), scopeRulesOf({}, null))).toBe(false);
    expect(isAllowed(made(["agents:write"]), elsewhere)).toBe(true);
  });

  it("is judged by its scopes alone, whatever it says itself", () => {
    const byHand = { ...made(["agents:run"]), has: () => true, resourceIds: () => "all" as const };
    expect(isAllowed(byHand)).toBe(false);
    expect(isAllowed({ ...byHand, scopes: ["agents:read"] })).toBe(true);
  });
});

describe("a decision", () => {
  it("shares the rule and the principal, and shows the scopes as the token lists them", () => {
    const table = tableOf({ "GET /a": ["x:y"] });
    const match = matchOf(table, "GET", "/a");
    const principal = callerWith("b:c", "a b", "", "b:c");
    const decision = decideByScopes(match, principal, SCOPE_RULES);
    expect(decision.rule).toBe(match.compiled.rule);
    expect(decision.principal).toBe(principal);
    expect(decision.granted).toEqual(["b:c", "a b", "", "b:c"]);
  });

  const principal = callerWith("agents:read");
  const decisions: readonly (readonly [string, () => Decision])[] = [
    ["allowed by an exact scope", () => decide(["agents:read"], ["agents:read"])],
    ["allowed by a wildcard", () => decide(["agents:<agent_id>:run"], ["agents:*:run"])],
    ["allowed for some ids", () => decide({ filtered: "agents:read" }, ["agents:web:read"])],
    ["allowed by the admin scope", () => decide(["agents:read"], ["platform:admin"])],
    ["refused with one scope of two", () => decide(["agents:read", "a:b"], ["a:b"])],
    ["refused by scopes", () => decide(["agents:run", "agents:<agent_id>:run"], [])],
    ["refused of a list", () => decide({ filtered: "agents:read" }, [])],
    ["of a public route", () => decide("public", ["a:b"])],
    ["of a token alone", () => decide([], ["a:b"])],
    [
      "of a list in code",
      () => decideByScopeList(compileScopeList(["x:y"], "any"), () => "", SCOPE_RULES, { principal }),
    ],
    ["allow()", () => allow()],
    ["allow(facts)", () => allow({ principal })],
    ["refuse(reason)", () => refuse("route_unmapped")],
    ["refuse(reason, facts)", () => refuse("token_rejected", { principal, rejection: "expired" })],
  ];

  it.each(decisions)("is frozen with all that it holds: %s", (_, decideNow) => {
    const decision = decideNow();
    expect(changeable(decision)).toEqual([]);
    expect(() => Object.assign(decision, { allowed: true })).toThrow(TypeError);
    expect(() => (decision.granted as string[]).push("platform:admin")).toThrow(TypeError);
    expect(() => (decision.missing as string[]).pop()).toThrow(TypeError);
    expect(() => (decision.satisfied as unknown[]).pop()).toThrow(TypeError);
  });

  it("does not freeze or share the lists of the compiled rule", () => {
    const table = tableOf({ "GET /a": ["x:y"] });
    const match = matchOf(table, "GET", "/a");
    const [one, two] = [callerWith("x:y"), callerWith()].map((caller) =>
      decideByScopes(match, caller, SCOPE_RULES),
    );
    expect(one).toMatchObject({ allowed: true, granted: ["x:y"] });
    expect(two).toMatchObject({ allowed: false, granted: [], missing: ["x:y"] });
  });
});

describe("refuse", () => {
  const reasons: readonly RefusalReason[] = [
    "request_ambiguous",
    "credential_missing",
    "credential_malformed",
    "token_rejected",
    "route_unmapped",
    "keys_unavailable",
  ];

  it.each(reasons)("%s is never allowed, whatever facts come with it", (reason) => {
    const facts = { allowed: true, principal: callerWith("platform:admin") };
    expect(refuse(reason, facts)).toMatchObject({
      allowed: false,
      reason,
      granted: ["platform:admin"],
      required: [],
      missing: [],
      satisfied: [],
    });
    expect(refuse(reason)).toMatchObject({ allowed: false, reason, granted: [] });
  });

  it("keeps what was wrong and the cause for the log", () => {
    const cause = new Error("no route to host");
    expect(refuse("keys_unavailable", { cause }).cause).toBe(cause);
    expect(refuse("token_rejected", { rejection: "expired" }).rejection).toBe("expired");
  });
});

describe("allow", () => {
  it("asks nothing of the caller", () => {
    expect(allow()).toEqual({ allowed: true, required: [], granted: [], missing: [], satisfied: [] });
    expect(allow({ principal: callerWith("a:b") })).toMatchObject({ allowed: true, granted: ["a:b"] });
  });
});

describe("combine", () => {
  const ruled = (requirement: Requirement) => decide(requirement, ["agents:read", "teams:read"]);

  it("allows where all rules do, and shows the first", () => {
    const [first, second] = [ruled(["agents:read"]), ruled(["teams:read"])];
    expect(combine([first, second])).toBe(first);
    expect(combine([second])).toBe(second);
  });

  it("refuses where one rule does, and tells the scopes of all, each once", () => {
    const refused = ruled(["agents:read", "agents:run"]);
    const decision = combine([ruled(["agents:read"]), refused, ruled(["teams:run"])]);
    expect(decision).toMatchObject({
      allowed: false,
      reason: "scope_insufficient",
      rule: refused.rule,
      required: ["agents:read", "agents:run", "teams:run"],
      missing: ["agents:run", "teams:run"],
      satisfied: [{ required: "agents:read", granted: "agents:read" }],
    });
    expect(changeable(decision)).toEqual([]);
    expect(combine([refused])).toBe(refused);
  });
});
