import { describe, expect, it } from "vitest";
import type { Conditions } from "scopegate/conditions";
import { describeConditions } from "../../../src/capabilities/conditions/conditions.ts";
import { conditionIssues, decide } from "../../support/conditions.ts";
import { changeable } from "../../support/policy.ts";

const WHERE_HINT = 'Write the parameter and the claim: { org: { claim: "org_id" } }.';
const SCOPES = 'isn\'t an array of scopes. Write the scopes: ["orgs:cross"].';
const METHODS =
  'isn\'t an array of methods that the rule matches. Write the methods in upper case: ["GET"]. For every method, remove `methods`.';

/** Wrong values of each condition, by where they are and what is wrong with them. */
const MISTAKES: readonly (readonly [place: string, text: string, values: readonly unknown[]])[] = [
  ["where", `isn't an object of parameters. ${WHERE_HINT}`, [undefined, null, "org", [], {}]],
  [
    "where.org",
    `doesn't name a claim. ${WHERE_HINT}`,
    [
      null,
      "org_id",
      {},
      [],
      { claim: "" },
      { claim: [] },
      { claim: ["org", 1] },
      { claim: "a", issuer: 5 },
      { claim: "a", issuer: "" },
      { claim: "a", claims: "b" },
      [{ claim: "a" }, {}],
    ],
  ],
  ["where.tenant", "isn't a parameter of the route. It has `org`.", [{ claim: "a" }]],
  [
    "actors",
    'isn\'t a condition on actors. Write "none", "any", or the `sub` of each actor that may act for a user: { anyOf: ["agent-1"] }, with `direct: true` to allow the user itself, too.',
    [
      undefined,
      null,
      "some",
      {},
      { direct: true },
      { anyOf: [] },
      { anyOf: [""] },
      { anyOf: ["a", 5] },
      { anyOf: ["a"], direct: "yes" },
      { anyOf: ["a"], inner: true },
    ],
  ],
  [
    "clients",
    'isn\'t an array of client ids. Write the `client_id` of each client that may call: ["admin-console"].',
    [undefined, "console", [], [""], ["console", 5], { anyOf: ["console"] }],
  ],
  [
    "senderConstrained",
    "can't be switched off for one rule. Write true, or remove it.",
    [undefined, false, "true"],
  ],
  [
    "acr",
    'isn\'t a condition on the login. Write the values of the claim `acr` that are enough: { anyOf: ["urn:example:mfa"] }.',
    [undefined, {}, ["urn:mfa"], { anyOf: [] }, { allOf: ["urn:mfa"] }],
  ],
  [
    "acr",
    "names `mfa`, which is a value of the claim `amr` (RFC 8176), not of `acr`. Write the `acr` that your issuer gives to such logins; its metadata lists them as `acr_values_supported`.",
    [{ anyOf: ["mfa"] }, { anyOf: ["urn:mfa", "mfa"] }],
  ],
  [
    "maxAuthAgeSeconds",
    "isn't an age. Write a whole number of seconds, 1 or more: 300.",
    [undefined, 0, -1, 1.5, NaN, Infinity, "300", [300]],
  ],
  ["also", 'isn\'t an array of scopes. Write the scopes: ["admin:use"].', [[], "admin:use"]],
  ["unless", SCOPES, [[], "orgs:any"]],
  ["unless.scopes", SCOPES, [undefined, []]],
  ["unless.methods", METHODS, [["*"], ["POST"], ["get"], [], "GET"]],
  [
    "except",
    'isn\'t an array of keys of the table. Write the key of each rule: ["GET /orgs/:org/logo"].',
    [[], "GET /a"],
  ],
];

/** A rule with one value in place of that of a correct rule: `unless.methods` is in `unless`. */
function conditionsWith(place: string, value: unknown): object {
  const [name = "", inner] = place.split(".");
  const written = name === "unless" && inner ? { scopes: ["a:b"], [inner]: value } : { [inner ?? ""]: value };
  const isLifting = name === "unless" || name === "except";
  return { ...(isLifting && { actors: "none" }), [name]: inner === undefined ? value : written };
}

describe("a condition with a wrong value", () => {
  const rows = MISTAKES.flatMap(([place, text, values]) =>
    values.map((value) => [place, value, text] as const),
  );

  it.each(rows)("is rejected with its place, the mistake and the fix: %s %j", (place, value, text) => {
    expect(conditionIssues(conditionsWith(place, value))).toEqual([`condition_invalid ${place}: ${text}`]);
  });

  it.each(["urn:a urn:b", 'a"b', "é"])("is rejected if a challenge can't contain the acr %j", (value) => {
    expect(conditionIssues({ acr: { anyOf: [value] } })).toEqual([
      `condition_invalid acr: has ${JSON.stringify(value)}, which a challenge can't contain. Write printable ASCII without spaces, quotation marks and backslashes.`,
    ]);
  });

  it.each([
    ["GET /orgs", "isn't a parameter of the route. The route has no parameters."],
    [
      "GET /orgs/*org",
      "is a wildcard, which matches several segments. Write a parameter: `:org` instead of `*org`.",
    ],
    ["MCP tools/list", "isn't a parameter of the route. The route has no parameters."],
  ])("is rejected if not every request for %s has the parameter", (key, text) => {
    expect(conditionIssues({ where: { org: { claim: "org_id" } } }, key)).toEqual([
      `condition_invalid where.org: ${text}`,
    ]);
  });

  it.each<[object, string, string]>([
    [
      { where: { any: { claim: "a" } } },
      "MCP tools/call x",
      "where.any: can't be an argument. Give it another name.",
    ],
    [
      { actors: "none", unless: { scopes: ["a:b"], methods: ["GET"] } },
      "MCP tools/call a",
      "unless.methods: isn't an array of methods that the rule matches. Remove `methods`: an operation has no method.",
    ],
    [
      { unless: ["orgs:any"] },
      "GET /a",
      "unless: has no effect without a condition. Write one of also, where, actors, clients, senderConstrained, acr, maxAuthAgeSeconds next to it.",
    ],
    [
      { except: ["GET /b"] },
      "GET /a",
      "except: has no effect without a condition. Write one of also, where, actors, clients, senderConstrained, acr, maxAuthAgeSeconds next to it.",
    ],
  ])("is rejected if its rule can't have it: %j for %s", (conditions, key, issue) => {
    expect(conditionIssues(conditions, key)).toEqual([`condition_invalid ${issue}`]);
  });

  it("is rejected if `unless` lifts nothing", () => {
    expect(conditionIssues({ acr: { anyOf: ["urn:mfa"] }, unless: ["orgs:any"] }).join()).toContain(
      "lifts nothing here",
    );
  });

  it("is rejected with the place of each wrong parameter, scope and key of `except`", () => {
    const conditions = {
      where: { org: {}, team: { claim: "team" }, other: 5 },
      also: ["a:b", "orgs:<any>:b", "orgs:<org>:b", "orgs:<id>:b"],
      actors: "none",
      unless: { scopes: ["a:b", "a b", "a:<any>:b"], methods: ["GET", "HEAD"] },
      except: ["GET /a", "/b", "GET /c"],
    };
    expect(conditionIssues(conditions).map((issue) => issue.split(":", 1)[0])).toEqual([
      "condition_invalid where.org",
      "condition_invalid where.team",
      "condition_invalid where.other",
      "condition_invalid where.other",
      "scope_invalid also.1",
      "scope_invalid also.3",
      "scope_invalid unless.scopes.1",
      "scope_invalid unless.scopes.2",
      "condition_invalid except.1",
    ]);
  });
});

describe("the description of conditions", () => {
  it.each<[Conditions, readonly string[]]>([
    [{ where: { org: { claim: "org_id" } } }, ["org is the claim org_id"]],
    [
      {
        where: {
          org: [{ claim: ["org", "id"], issuer: "https://a.test" }, { claim: "tenant" }],
          id: { claim: "sub" },
        },
      },
      ["org is the claim org.id of https://a.test or tenant and id is the claim sub"],
    ],
    [{ actors: "none" }, ["nobody acts for the user"]],
    [{ actors: "any" }, ["somebody acts for the user"]],
    [{ actors: { anyOf: ["agent-1", "agent-2"] } }, ["the actor is agent-1 or agent-2"]],
    [{ actors: { anyOf: ["agent-1"], direct: true } }, ["the actor is agent-1, or nobody acts for the user"]],
    [{ clients: ["console", "worker"] }, ["the client is console or worker"]],
    [{ senderConstrained: true }, ["the token is bound to a key of the client"]],
    [{ acr: { anyOf: ["urn:a", "urn:b"] } }, ["the login has the acr urn:a or urn:b"]],
    [{ maxAuthAgeSeconds: 300 }, ["the user has logged in within 300 s"]],
    [{ also: ["admin:use", "orgs:<org>:use"] }, ["also admin:use orgs:<org>:use"]],
    [{ unless: ["orgs:any", "support:on"] }, ["unless granted orgs:any support:on"]],
    [{ unless: { scopes: ["orgs:any"], methods: ["GET"] } }, ["unless granted orgs:any for GET"]],
    [{ except: ["GET /a", "GET /b"] }, ["except at `GET /a`, `GET /b`"]],
    // In the order in which they refuse.
    [
      { maxAuthAgeSeconds: 60, clients: ["a"], actors: "none", also: ["a:b"] },
      ["also a:b", "nobody acts for the user", "the client is a", "the user has logged in within 60 s"],
    ],
  ])("says what %j requires", (conditions, texts) => {
    expect(describeConditions(conditions)).toEqual(texts);
  });

  it("returns nothing for a rule without conditions", () => {
    expect(describeConditions()).toEqual([]);
  });
});

describe("the conditions of a running server", () => {
  it("do not change when the options do", () => {
    const agents = ["agent-1"];
    const { rule } = decide({ "GET /a": { scopes: [], actors: { anyOf: agents } } }, "GET /a");
    agents.push("agent-2");
    expect(rule?.conditions).toEqual({ actors: { anyOf: ["agent-1"] } });
  });

  it("are frozen with all that they contain", () => {
    const where = { org: [{ claim: ["org", "id"], issuer: "https://a.test" }] };
    const { rule } = decide({ "GET /:org": { scopes: [], where } }, "GET /a");
    expect(changeable(rule)).toEqual([]);
  });
});
