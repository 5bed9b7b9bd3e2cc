import { describe, expect, it } from "vitest";
import type { Conditions } from "scopegate/conditions";
import { describeConditions } from "../../../src/capabilities/conditions/conditions.ts";
import { conditionIssues, decide } from "../../support/conditions.ts";

describe("a condition with a wrong value", () => {
  const whereHint = 'Write the parameter and the claim: { org: { claim: "org_id" } }.';

  it.each([
    [{ where: [] }, "where", `isn't an object of parameters. ${whereHint}`],
    [{ where: { org: {} } }, "where.org", `doesn't name a claim. ${whereHint}`],
    [
      { actors: "some" },
      "actors",
      'isn\'t a condition on actors. Write "none", "any", or the `sub` of each actor that may act for a user: { anyOf: ["agent-1"] }, with `direct: true` to allow the user itself, too.',
    ],
    [
      { clients: [] },
      "clients",
      'isn\'t an array of client ids. Write the `client_id` of each client that may call: ["admin-console"].',
    ],
    [
      { senderConstrained: false },
      "senderConstrained",
      "can't be switched off for one rule. Write true, or remove it.",
    ],
    [
      { acr: {} },
      "acr",
      'isn\'t a condition on the login. Write the values of the claim `acr` that are enough: { anyOf: ["urn:example:mfa"] }.',
    ],
    [
      { acr: { anyOf: ["mfa"] } },
      "acr",
      "names `mfa`, which is a value of the claim `amr` (RFC 8176), not of `acr`. Write the `acr` that your issuer gives to such logins; its metadata lists them as `acr_values_supported`.",
    ],
    [
      { acr: { anyOf: ["a b"] } },
      "acr",
      'has "a b", which a challenge can\'t contain. Write printable ASCII without spaces, quotation marks and backslashes.',
    ],
    [
      { maxAuthAgeSeconds: 0 },
      "maxAuthAgeSeconds",
      "isn't an age. Write a whole number of seconds, 1 or more: 300.",
    ],
    [
      { actors: "none", unless: [] },
      "unless",
      'isn\'t an array of scopes. Write the scopes: ["orgs:cross"].',
    ],
    [{ also: [] }, "also", 'isn\'t an array of scopes. Write the scopes: ["admin:use"].'],
    [{ also: "admin:use" }, "also", 'isn\'t an array of scopes. Write the scopes: ["admin:use"].'],
    ...[["*"], ["POST"], ["get"], [], "GET"].map((methods): [object, string, string] => [
      { actors: "none", unless: { scopes: ["orgs:cross"], methods } },
      "unless.methods",
      'isn\'t an array of methods that the rule matches. Write the methods in upper case: ["GET"]. For every method, remove `methods`.',
    ]),
    [
      { actors: "none", unless: { methods: ["GET"] } },
      "unless.scopes",
      'isn\'t an array of scopes. Write the scopes: ["orgs:cross"].',
    ],
    [
      { actors: "none", except: [] },
      "except",
      'isn\'t an array of keys of the table. Write the key of each rule: ["GET /orgs/:org/logo"].',
    ],
    [
      { unless: ["orgs:any"] },
      "unless",
      "has no effect without a condition. Write one of also, where, actors, clients, senderConstrained, acr, maxAuthAgeSeconds next to it.",
    ],
  ])("rejects it with its place, the mistake and the fix: %j", (conditions, place, text) => {
    expect(conditionIssues(conditions)).toEqual([`condition_invalid ${place}: ${text}`]);
  });

  it("rejects it with the place of each wrong scope, and of each wrong key of `except`", () => {
    const conditions = {
      also: ["a:b", "orgs:<any>:b", "orgs:<org>:b", "orgs:<id>:b"],
      actors: "none",
      unless: { scopes: ["a:b", "a b", "a:<any>:b"], methods: ["GET", "HEAD"] },
      except: ["GET /a", "/b", "GET /c"],
    };
    expect(conditionIssues(conditions).map((issue) => issue.split(":", 1)[0])).toEqual([
      expect.stringMatching(/^\w+ also\.1$/),
      "scope_invalid also.3",
      "scope_invalid unless.scopes.1",
      "scope_invalid unless.scopes.2",
      "condition_invalid except.1",
    ]);
  });

  it("rejects methods of `unless` for an operation, which has none", () => {
    const unless = { scopes: ["a:b"], methods: ["GET"] };
    expect(conditionIssues({ actors: "none", unless }, "MCP tools/call a")).toEqual([
      "condition_invalid unless.methods: isn't an array of methods that the rule matches. Remove `methods`: an operation has no method.",
    ]);
  });
});

describe("the description of conditions", () => {
  it.each<[Conditions, string]>([
    [{ where: { org: { claim: "org_id" } } }, "org is the claim org_id"],
    [
      {
        where: {
          org: [{ claim: ["org", "id"], issuer: "https://a.test" }, { claim: "tenant" }],
          user: { claim: "sub" },
        },
      },
      "org is the claim org.id of https://a.test or tenant and user is the claim sub",
    ],
    [{ actors: "none" }, "nobody acts for the user"],
    [{ actors: "any" }, "somebody acts for the user"],
    [{ actors: { anyOf: ["agent-1", "agent-2"] } }, "the actor is agent-1 or agent-2"],
    [{ actors: { anyOf: ["agent-1"], direct: true } }, "the actor is agent-1, or nobody acts for the user"],
    [{ clients: ["console", "worker"] }, "the client is console or worker"],
    [{ senderConstrained: true }, "the token is bound to a key of the client"],
    [{ acr: { anyOf: ["urn:a", "urn:b"] } }, "the login has the acr urn:a or urn:b"],
    [{ maxAuthAgeSeconds: 300 }, "the user has logged in within 300 s"],
    [{ also: ["admin:use", "orgs:<org>:use"] }, "also admin:use orgs:<org>:use"],
    [{ unless: ["orgs:any", "support:on"] }, "unless granted orgs:any support:on"],
    [{ unless: { scopes: ["orgs:any"], methods: ["GET"] } }, "unless granted orgs:any for GET"],
    [{ except: ["GET /a", "GET /b"] }, "except at `GET /a`, `GET /b`"],
  ])("says what %j requires", (conditions, text) => {
    expect(describeConditions(conditions)).toEqual([text]);
  });

  it("lists them in the order in which they refuse", () => {
    const conditions: Conditions = { maxAuthAgeSeconds: 60, clients: ["a"], actors: "none", also: ["a:b"] };
    expect(describeConditions(conditions)).toEqual([
      "also a:b",
      "nobody acts for the user",
      "the client is a",
      "the user has logged in within 60 s",
    ]);
  });

  it("returns nothing for a rule without conditions", () => {
    expect(describeConditions()).toEqual([]);
  });
});

describe("the conditions of a running server", () => {
  it("do not change when the options do", () => {
    const agents = ["agent-1"];
    const written = { actors: { anyOf: agents } };
    const { rule } = decide({ "GET /a": { scopes: [], ...written } }, "GET /a");
    agents.push("agent-2");
    expect(rule?.conditions).toEqual({ actors: { anyOf: ["agent-1"] } });
  });

  it("freezes them with all that they contain", () => {
    const where = { org: [{ claim: ["org", "id"], issuer: "https://a.test" }] };
    const { rule } = decide({ "GET /:org": { scopes: [], where } }, "GET /a");
    const conditions = rule?.conditions as { where: typeof where };
    for (const part of [conditions, conditions.where, conditions.where.org, conditions.where.org[0]?.claim])
      expect(Object.isFrozen(part)).toBe(true);
  });
});
