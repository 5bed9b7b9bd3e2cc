import { describe, expect, it } from "vitest";
import type { Requirement } from "../../../src/core/policy/requirement.ts";
import type { ScopeMappings } from "../../../src/core/policy/scope-mappings.ts";
import { changeable, keyOf, matchOf, rulesOf, tableIssues, tableOf } from "../../support/policy.ts";

const sourcesOf = (customs: ScopeMappings, defaults: ScopeMappings) =>
  rulesOf(customs, defaults).map(({ rule }) => [rule.source, rule.key]);

const issueCodes = (customs: ScopeMappings, defaults: ScopeMappings = {}) =>
  tableIssues(customs, defaults).map(({ code, path }) => [code, ...path]);

const DEFAULTS: ScopeMappings = {
  "GET /agents": ["agents:<any>:read"],
  "GET /agents/:agent_id": ["agents:<agent_id>:read"],
  "GET /files/*path": ["files:read"],
};

describe("the effective table", () => {
  it("adds the custom table to the default one", () => {
    expect(sourcesOf({ "POST /custom/endpoint": ["custom:write"] }, DEFAULTS)).toEqual([
      ["default", "GET /agents"],
      ["default", "GET /agents/:agent_id"],
      ["default", "GET /files/*path"],
      ["custom", "POST /custom/endpoint"],
    ]);
  });

  it.each([
    ["GET /agents", "GET /agents"],
    ["GET /agents/:id", "GET /agents/:agent_id"],
    ['GET /agents/:"agent-id"', "GET /agents/:agent_id"],
    ["GET /files/*rest", "GET /files/*path"],
    ['GET /files/*"*"', "GET /files/*path"],
  ])("replaces by the custom %s the default %s, whatever its parameter is called", (custom, replaced) => {
    const sources = sourcesOf({ [custom]: [] }, DEFAULTS);
    expect(sources).toHaveLength(3);
    expect(sources).toContainEqual(["override", custom]);
    if (custom !== replaced) expect(sources.flat()).not.toContain(replaced);
  });

  it.each([
    "* /agents",
    "HEAD /agents",
    "GET /agents/*agent_id",
    "GET /agents/:id/x",
    "GET /agents/:id.json",
  ])("keeps every default next to the custom %s, which is another route", (custom) => {
    const sources = sourcesOf({ [custom]: [] }, DEFAULTS);
    expect(sources).toHaveLength(4);
    expect(sources).toContainEqual(["custom", custom]);
    expect(sources.filter(([source]) => source === "default")).toHaveLength(3);
  });

  it("lists the remaining defaults first, then the custom rules, in the order of writing", () => {
    const customs = { "POST /x": [], "GET /agents": [], "GET /y": [] };
    expect(sourcesOf(customs, DEFAULTS)).toEqual([
      ["default", "GET /agents/:agent_id"],
      ["default", "GET /files/*path"],
      ["custom", "POST /x"],
      ["override", "GET /agents"],
      ["custom", "GET /y"],
    ]);
  });

  it("replaces every default that a custom subtree has in common", () => {
    const defaults: ScopeMappings = { "GET /docs": ["docs:list"], "GET /docs/*path": ["docs:read"] };
    const customs: ScopeMappings = { "GET /docs{/*path}": ["custom:read"] };
    expect(sourcesOf(customs, defaults)).toEqual([["override", "GET /docs{/*path}"]]);
    const table = tableOf(customs, defaults);
    for (const target of ["/docs", "/docs/web"])
      expect(keyOf(table, "GET", target), target).toBe("GET /docs{/*path}");
  });

  it("keeps the rest of a default subtree", () => {
    const defaults: ScopeMappings = { "GET /docs{/*path}": ["docs:read"] };
    const customs: ScopeMappings = { "GET /docs": "public" };
    expect(sourcesOf(customs, defaults)).toEqual([
      ["default", "GET /docs{/*path}"],
      ["override", "GET /docs"],
    ]);
    const table = tableOf(customs, defaults);
    expect(keyOf(table, "GET", "/docs/web")).toBe("GET /docs{/*path}");
    expect(keyOf(table, "GET", "/docs")).toBe("GET /docs");
  });

  it("uses the requirement and the parameters of the custom rule", () => {
    const table = tableOf({ "GET /agents/:id": ["custom:<id>:read"] }, DEFAULTS);
    const match = matchOf(table, "GET", "/agents/web");
    expect(match.compiled.rule).toMatchObject({ source: "override", requirement: ["custom:<id>:read"] });
    expect(match.parameter("id")).toBe("web");
    expect(match.parameter("agent_id")).toBe("");
  });
});

/** Keys that are one route by the loosest spelling. */
const LOOSE_PAIRS: readonly (readonly [string, string])[] = [
  ["GET /agents", "GET /Agents"],
  ["GET /agents", "GET /%61gents"],
  ["GET /agents/", "GET /agents"],
  ["GET /agents/:id", "GET /Agents/:agent_id"],
  ["GET /v/:id.json", "GET /V/:id.JSON"],
  ["GET /a{/*b}", "GET /A{/*B}"],
];

describe("two keys of one route", () => {
  it.each<readonly [string, string]>([
    ...LOOSE_PAIRS,
    ["GET /agents/:id", "GET /agents/:agent_id"],
    ["* /a{/*c}", "* /a{/*b}"],
    // Optional parts that overlap, whatever else they match.
    ["GET /a{/}", "GET /a"],
    ["GET /a{/*b}", "GET /a/*c"],
    ["GET /a{/}", "GET /a{/*b}"],
  ])("reports two keys of one route in one table, in any order: %s and %s", (first, second) => {
    for (const requirement of [["a:b"], []])
      for (const table of [
        { [first]: ["a:b"], [second]: requirement },
        { [second]: requirement, [first]: ["a:b"] },
      ]) {
        expect(issueCodes(table)).toContainEqual(["route_duplicate", "scopeMappings", second]);
        expect(issueCodes({}, table)).toContainEqual(["route_duplicate", "defaultScopeMappings", second]);
      }
    const [issue] = tableIssues({ [first]: [], [second]: [] });
    expect(issue?.message).toContain(`\`${first}\``);
    expect(issue?.hint).toContain("Keep one of the two");
  });

  it.each([
    ["GET /docs", "GET /docs{/*path}", "public"],
    ["GET /docs/", "GET /docs{/*path}", []],
    ["GET /", "GET /{*path}", "public"],
    ["GET /orgs/:org", "GET /orgs/:org{/*path}", ["orgs:<org>:read"]],
  ] as const)("accepts %s and %s if both require the same", (root, subtree, requirement) => {
    for (const keys of [
      [root, subtree],
      [subtree, root],
    ]) {
      const table = Object.fromEntries(keys.map((key) => [key, requirement]));
      expect(tableIssues(table)).toEqual([]);
      expect(rulesOf(table).map(({ rule }) => rule.key)).toEqual(keys);
      expect(rulesOf(table, table).map(({ rule }) => rule.source)).toEqual(["override", "override"]);
    }
  });

  it.each([
    ["GET /docs", "public", "GET /docs{/*path}", []],
    ["GET /docs", ["a:b"], "GET /docs{/*path}", { anyOf: ["a:b"] }],
    ["GET /agents", "public", "GET /agents/", "public"],
    ["GET /docs{/*path}", "public", "GET /docs{/*rest}", "public"],
  ] as const)("reports %s: %j and %s: %j", (one, first, other, second) => {
    const [issue, ...others] = tableIssues({ [one]: first, [other]: second });
    expect([issue?.code, others]).toEqual(["route_duplicate", []]);
  });
});

it.each(LOOSE_PAIRS)("replaces a default rule in another spelling: %s and %s", (first, second) => {
  expect(sourcesOf({ [second]: ["a:b"] }, { [first]: "public" as const })).toEqual([["override", second]]);
  expect(sourcesOf({ [first]: ["a:b"] }, { [second]: "public" as const })).toEqual([["override", first]]);
});

describe("two spellings of one text at the same place", () => {
  it.each([
    ["GET /agents/y", "GET /Agents/x"],
    ["GET /agents/y", "POST /Agents/y"],
    ["GET /agents/y", "GET /%61gents/x"],
    ["GET /a/caf%c3%a9", "POST /a/caf%C3%A9"],
    ["GET /:id.json/x", "GET /:id.JSON/y"],
    ["GET /:y/:id.json", "POST /:x/:id%2ejson"],
  ])("reports two spellings of one text at the same place: %s and %s", (first, second) => {
    for (const requirement of ["public", ["a:b"]] as const)
      expect(issueCodes({ [first]: ["a:b"], [second]: requirement })).toEqual([
        ["route_ambiguous", "scopeMappings", second],
      ]);
    expect(issueCodes({}, { [second]: [], [first]: [] })).toEqual([
      ["route_ambiguous", "defaultScopeMappings", second],
    ]);
    // The base table is right.
    for (const [base, custom] of [
      [first, second],
      [second, first],
    ] as const)
      expect(issueCodes({ [custom]: [] }, { [base]: [] })).toEqual([
        ["route_ambiguous", "scopeMappings", custom],
      ]);
  });

  it("shows both spellings of a text, and the one to write", () => {
    expect(tableIssues({ "GET /agents/y": [], "GET /Agents/x": [] })).toEqual([
      {
        code: "route_ambiguous",
        path: ["scopeMappings", "GET /Agents/x"],
        message: "spells `Agents`, which another rule spells `agents` at the same place.",
        hint: "Write `agents` here, or change the other rule: many routers read both as one path.",
      },
    ]);
    expect(tableIssues({ "GET /:id.json/x": [], "GET /:name.JSON/y": [] })[0]?.message).toContain("`.JSON`");
  });

  it.each([
    ["GET /agents/x", "GET /teams/X"],
    ["GET /agents", "GET /:agents"],
    ["GET /:id", "GET /*id"],
    ["GET /a-b", "GET /ab"],
    ["GET /a/b", "GET /ab"],
    ["GET /:a/x", "GET /b/X"],
  ])("accepts texts that no router reads as one: %s and %s", (first, second) => {
    expect(tableIssues({ [first]: ["a:b"], [second]: "public" as const })).toEqual([]);
  });
});

describe("the mistakes of a table", () => {
  it("reports all of them, each with its path", () => {
    const customs = {
      "get /a": [],
      "GET  /b": [],
      "GET /files/*": [],
      "GET /c//d": [],
      "GET /e": ["f::g", "h i"],
      "GET /j/:x": ["j:<any>:read"],
      "GET /j/:any": [],
      "GET /k": ["k:<id>:read"],
      "GET /ok": ["a:b"],
    };
    const defaults = { "GTE /l": [] };
    expect(issueCodes(customs, defaults)).toEqual([
      ["route_key_invalid", "defaultScopeMappings", "GTE /l"],
      ["route_key_invalid", "scopeMappings", "get /a"],
      ["route_key_invalid", "scopeMappings", "GET  /b"],
      ["route_pattern_invalid", "scopeMappings", "GET /files/*"],
      ["route_unreachable", "scopeMappings", "GET /c//d"],
      ["scope_invalid", "scopeMappings", "GET /e", 0],
      ["scope_invalid", "scopeMappings", "GET /e", 1],
      ["scope_invalid", "scopeMappings", "GET /j/:x", 0],
      ["route_pattern_invalid", "scopeMappings", "GET /j/:any"],
      ["scope_invalid", "scopeMappings", "GET /k", 0],
    ]);
  });

  it("reads own keys only: a polluted prototype adds no route", () => {
    const table = Object.create({ "GET /admin": "public" }) as ScopeMappings;
    expect(rulesOf(table)).toEqual([]);
  });
});

describe("a compiled table", () => {
  it("does not change with the objects that it was compiled from", () => {
    const scopes = ["admin:use"];
    const alternatives = { anyOf: ["a:read", "b:read"] };
    const customs: Record<string, Requirement> = {
      "GET /admin": scopes,
      "GET /any": alternatives,
    };
    const defaults: Record<string, Requirement> = { "GET /x": ["x:read"] };
    const rules = rulesOf(customs, defaults);
    const before = JSON.stringify(rules);
    const table = tableOf(customs, defaults);

    scopes.length = 0;
    alternatives.anyOf.push("c:read");
    customs["GET /admin"] = "public";
    customs["GET /new"] = "public";
    delete defaults["GET /x"];

    expect(JSON.stringify(rules)).toBe(before);
    expect(matchOf(table, "GET", "/admin").compiled.requirement).toMatchObject({
      kind: "allOf",
      scopes: [{ text: "admin:use" }],
    });
    expect(matchOf(table, "GET", "/any").compiled.rule.requirement).toEqual({ anyOf: ["a:read", "b:read"] });
    expect(keyOf(table, "GET", "/new")).toBe("unmapped");
    expect(keyOf(table, "GET", "/x")).toBe("GET /x");
  });

  it("does not freeze the objects that it was compiled from", () => {
    const customs: Record<string, Requirement> = { "GET /a": ["a:b"], "GET /b": { anyOf: ["a:b"] } };
    rulesOf(customs, customs);
    expect(changeable(customs)).toHaveLength(4);
  });

  it("contains only frozen rules, overrides included", () => {
    const customs: ScopeMappings = {
      "GET /agents": { anyOf: ["a:b"] },
      "GET /b": ["a:<any>:b"],
      "GET /c": ["a:b"],
      "GET /d": "public",
    };
    for (const { rule } of rulesOf(customs, DEFAULTS)) expect(changeable(rule), rule.key).toEqual([]);
  });
});
