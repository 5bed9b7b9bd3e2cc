import { describe, expect, it } from "vitest";
import { decideByRules, type Decision, refuse } from "../../src/core/policy/decision.ts";
import { explain } from "scopegate/explain";
import { describeConditions } from "../../src/capabilities/conditions/conditions.ts";
import { explainDecision } from "../../src/capabilities/explain/explain.ts";
import { UNRESTRICTED } from "../../src/core/policy/restrictions.ts";
import type { LeafMatch } from "../../src/core/policy/rule-tree.ts";
import type { Requirement } from "../../src/core/policy/requirement.ts";
import { decide as decideFor } from "../support/conditions.ts";
import { createServer } from "../support/resource-servers.ts";
import { ADMIN_RULES, callerWith, matchesOf, matchOf, SCOPE_RULES, tableOf } from "../support/policy.ts";

/** What a request has for which the scopes of these rules decide. */
const governingOf = ({ rules }: Decision) => ({
  matches: rules.map((rule) => {
    const conditions = { described: describeConditions(rule.conditions) };
    return { compiled: { rule, conditions, asList: [rule] } } as unknown as LeafMatch;
  }),
  restrictions: UNRESTRICTED,
});

/** The text as pairs of the name and the value of each line. */
function linesOf(decision: Decision, path = "/agents/web"): readonly (readonly [string, string])[] {
  const { text } = explainDecision({ method: "GET", path }, decision, governingOf(decision));
  const [head, ...lines] = text.split("\n");
  expect(head).toBe(`GET ${path}`);
  return lines.map((line): readonly [string, string] => {
    const [, name = "", said = ""] = /^ {2}(\w+) +(\S.*)?$/.exec(line) ?? [];
    return [name, said];
  });
}

const saysOf = (decision: Decision, name: string) =>
  linesOf(decision)
    .filter(([one]) => one === name)
    .map(([, said]) => said);

function matchFor(requirement: Requirement) {
  const isList = JSON.stringify(requirement).includes("<any>");
  return matchOf(tableOf({ [`GET /agents/${isList ? "web" : ":id"}`]: requirement }), "GET", "/agents/web");
}

const decide = (requirement: Requirement, ...granted: readonly string[]) =>
  decideByRules([matchFor(requirement)], callerWith(...granted), ADMIN_RULES);

const anonymous = (requirement: Requirement) =>
  refuse("credential_missing", [matchFor(requirement).compiled.rule]);

describe("explainDecision", () => {
  it("returns the query and the decision as data", () => {
    const decision = decide(["agents:<id>:read"], "agents:read");
    const query = { method: "GET", path: "/agents/web", scopes: ["agents:read"] };
    expect(explainDecision(query, decision, governingOf(decision))).toMatchObject({
      method: "GET",
      path: "/agents/web",
    });
    expect(explainDecision(query, decision, governingOf(decision)).decision).toBe(decision);
  });

  it("shows the rule with its source, its requirement, what satisfied it, and the decision", () => {
    expect(linesOf(decide(["agents:<id>:read", "openid"], "agents:*:read", "openid"))).toEqual([
      ["rule", "GET /agents/:id (custom)"],
      ["requires", "agents:web:read openid"],
      ["granted", "agents:*:read openid"],
      ["satisfied", "agents:web:read by agents:*:read (wildcard)"],
      ["satisfied", "openid by openid (exact)"],
      ["decision", "allowed"],
    ]);
  });

  it("shows what is missing, and the reason", () => {
    expect(linesOf(decide(["agents:<id>:read", "openid"], "openid"))).toEqual([
      ["rule", "GET /agents/:id (custom)"],
      ["requires", "agents:web:read openid"],
      ["granted", "openid"],
      ["satisfied", "openid by openid (exact)"],
      ["missing", "agents:web:read"],
      ["decision", "refused: scope_insufficient"],
    ]);
  });

  it("shows the source of an override and of a default", () => {
    const defaults = { "GET /a": ["a:b"], "GET /b": ["a:b"] };
    const table = tableOf({ "GET /a": [] }, defaults);
    const ruleOf = (target: string) =>
      saysOf(decideByRules([matchOf(table, "GET", target)], callerWith(), SCOPE_RULES), "rule");
    expect(ruleOf("/a")).toEqual(["GET /a (override)"]);
    expect(ruleOf("/b")).toEqual(["GET /b (default)"]);
  });

  it.each([
    ["public", "nothing"],
    ["optional", "no token, or a valid one"],
    [[], "a valid token"],
    [["agents:<id>:read", "openid"], "agents:<id>:read openid"],
    [{ anyOf: ["agents:<id>:read", "openid"] }, "one of agents:<id>:read openid"],
    [["agents:<any>:read"], "agents:<any>:read"],
  ] satisfies (readonly [Requirement, string])[])(
    "shows what %j requires of a caller without a token: %s",
    (requirement, said) => {
      expect(saysOf(anonymous(requirement), "requires")).toEqual([said]);
      expect(saysOf(anonymous(requirement), "decision")).toEqual(["refused: credential_missing"]);
      expect(saysOf(anonymous(requirement), "granted")).toEqual(["-"]);
    },
  );

  it.each([
    [{ anyOf: ["agents:<id>:read", "openid"] }, "one of agents:web:read openid"],
    [["agents:<id>:read"], "agents:web:read"],
    [["agents:<any>:read"], "agents:<any>:read"],
    [[], "a valid token"],
  ] satisfies (readonly [Requirement, string])[])(
    "shows what %j requires of a caller with a token: %s",
    (requirement, said) => {
      expect(saysOf(decide(requirement, "x:y"), "requires")).toEqual([said]);
    },
  );

  it("says that an id with a colon cannot be a part of a scope", () => {
    const table = tableOf({ "GET /agents/:id": ["agents:<id>:read"] });
    const decision = decideByRules([matchOf(table, "GET", "/agents/a%3Ab")], callerWith("x:y"), SCOPE_RULES);
    expect(saysOf(decision, "note")).toEqual([
      "the id is missing or contains a colon: only a grant for every id covers agents:<id>:read",
    ]);
    expect(saysOf(decide(["agents:<id>:read"], "x:y"), "note")).toEqual([]);
  });

  it("says that the admin scope satisfies scopes only", () => {
    expect(saysOf(decide(["agents:<id>:read"], "platform:admin"), "note")).toEqual([
      "the admin scope satisfies scopes, and nothing else",
    ]);
  });

  it("shows that no rule decided", () => {
    expect(linesOf(refuse("route_unmapped"))).toEqual([
      ["rule", "none"],
      ["granted", "-"],
      ["decision", "refused: route_unmapped"],
    ]);
  });

  it("shows the cause of an ambiguous request, and not that it has no rule", () => {
    const decision = refuse("request_ambiguous", [], {
      cause: "The route no longer matches the request.",
    });
    expect(linesOf(decision)).toEqual([
      ["granted", "-"],
      ["decision", "refused: request_ambiguous. The route no longer matches the request."],
    ]);
  });

  it("shows every rule of a request with its own requirement", () => {
    const table = tableOf({ "GET /agents/me": ["me:read"], "GET /agents/:id": ["agents:<id>:read"] });
    const decision = decideByRules(matchesOf(table, "GET", "/agents/ME"), callerWith("me:read"), SCOPE_RULES);
    expect(linesOf(decision, "/agents/ME")).toEqual([
      ["rule", "GET /agents/me (custom)"],
      ["requires", "me:read"],
      ["rule", "GET /agents/:id (custom)"],
      ["requires", "agents:<id>:read"],
      ["granted", "me:read"],
      ["satisfied", "me:read by me:read (exact)"],
      ["missing", "agents:ME:read"],
      ["decision", "refused: scope_insufficient"],
    ]);
  });

  it("shows the conditions of each rule, and the one that the caller does not meet", () => {
    const conditions = { where: { org: { claim: "org_id" } }, clients: ["console"] };
    const table = { "GET /orgs/:org": { scopes: [], ...conditions } };
    expect(linesOf(decideFor(table, "GET /orgs/acme", { org_id: "acme" }), "/orgs/acme")).toEqual([
      ["rule", "GET /orgs/:org (custom)"],
      ["requires", "a valid token"],
      ["condition", "org is the claim org_id"],
      ["condition", "the client is console"],
      ["granted", "-"],
      ["decision", "refused: caller_not_allowed (clients of `GET /orgs/:org`)"],
    ]);
  });

  it("aligns the values of all lines", () => {
    const decision = refuse("route_unmapped");
    expect(explainDecision({ method: "GET", path: "/a" }, decision, governingOf(decision)).text).toBe(
      "GET /a\n  rule       none\n  granted    -\n  decision   refused: route_unmapped",
    );
  });

  it("shows what was wrong with a token", () => {
    expect(saysOf(refuse("token_rejected", [], { rejection: "expired" }), "decision")).toEqual([
      "refused: token_rejected (expired)",
    ]);
  });
});

describe("a query of `explain`", () => {
  const asking = (query: object) => () => explain(createServer(), query as never);

  it.each([
    [{ method: "GET" }, "explain takes (server, { method, path, scopes }): `path` is missing."],
    [
      { method: "GET", path: 5 },
      "explain takes (server, { method, path, scopes }): `path` must be a string.",
    ],
    [
      { method: "GET", path: "/a", scopes: "a:b" },
      'explain: `scopes` must be an array: write scopes: ["agents:read"].',
    ],
    [
      { method: "GET", path: "/a", claims: {} },
      "explain: `claims` need `scopes`: write scopes: [] for a token without any.",
    ],
    ...[{ tenant: "acme" }, { tenant: 5, scopes: [] }].map((caller): [object, string] => [
      { method: "GET", path: "/a", ...caller },
      'explain: `tenant` is a string, and needs `scopes`: write scopes: [], tenant: "acme".',
    ]),
  ])("rejects it if it has the wrong shape: %j", (query, message) => {
    expect(asking(query)).toThrow(new TypeError(message));
  });

  it.each([{}, { scopes: [] }, { scopes: [], claims: { sub: "u1" } }, { scopes: [], tenant: "acme" }])(
    "accepts it with scopes and claims, with scopes only, and without a caller: %j",
    (caller) => {
      expect(asking({ method: "GET", path: "/agents", ...caller })).not.toThrow();
    },
  );
});
