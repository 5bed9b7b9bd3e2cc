import { describe, expect, it } from "vitest";
import type { Requirement } from "../../../src/core/policy/requirement.ts";
import type { ScopeMappings } from "../../../src/core/policy/scope-mappings.ts";
import { changeable, keyOf, matchOf, rulesOf, tableIssues, tableOf } from "../../support/policy.ts";

// `messages.test.ts` has the text of each mistake.

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

  it.each([
    ["GET /agents/:id", "GET /agents/:agent_id"],
    ['GET /agents/:"agent-id"', "GET /agents/:agent_id"],
    ['GET /files/*"*"', "GET /files/*path"],
  ])("replaces by the custom %s the default %s, whatever its parameter is called", (custom, replaced) => {
    const sources = sourcesOf({ [custom]: [] }, DEFAULTS);
    expect(sources).toHaveLength(3);
    expect(sources).toContainEqual(["override", custom]);
    expect(sources.flat()).not.toContain(replaced);
  });

  it.each(["* /agents", "HEAD /agents", "GET /agents/*id", "GET /agents/:id/x", "GET /agents/:id.json"])(
    "keeps every default next to the custom %s, which is another route",
    (custom) => {
      const kept = Object.keys(DEFAULTS).map((key) => ["default", key]);
      expect(sourcesOf({ [custom]: [] }, DEFAULTS)).toEqual([...kept, ["custom", custom]]);
    },
  );

  it("replaces every default that a custom subtree has in common", () => {
    const defaults = { "GET /docs": ["docs:list"], "GET /docs/*path": ["docs:read"] };
    expect(sourcesOf({ "GET /docs{/*path}": ["x:read"] }, defaults)).toEqual([
      ["override", "GET /docs{/*path}"],
    ]);
  });

  it("keeps the rest of a default subtree", () => {
    const table = tableOf({ "GET /docs": "public" }, { "GET /docs{/*path}": ["docs:read"] });
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
    ["* /a{/*c}", "* /a{/*b}"],
    // Optional parts that overlap, whatever else they match.
    ["GET /a{/}", "GET /a"],
    ["GET /a{/*b}", "GET /a/*c"],
    ["GET /a{/}", "GET /a{/*b}"],
  ])("are a mistake in one table, in any order: %s and %s", (first, second) => {
    for (const requirement of [["a:b"], []])
      for (const table of [
        { [first]: ["a:b"], [second]: requirement },
        { [second]: requirement, [first]: ["a:b"] },
      ]) {
        expect(issueCodes(table)).toContainEqual(["route_duplicate", "scopeMappings", second]);
        expect(issueCodes({}, table)).toContainEqual(["route_duplicate", "defaultScopeMappings", second]);
      }
  });

  it.each(LOOSE_PAIRS)("replace each other if one is custom: %s and %s", (first, second) => {
    expect(sourcesOf({ [second]: ["a:b"] }, { [first]: "public" as const })).toEqual([["override", second]]);
    expect(sourcesOf({ [first]: ["a:b"] }, { [second]: "public" as const })).toEqual([["override", first]]);
  });

  it.each([
    ["GET /docs", "GET /docs{/*path}", "public"],
    ["GET /docs/", "GET /docs{/*path}", []],
    ["GET /", "GET /{*path}", "public"],
    ["GET /orgs/:org", "GET /orgs/:org{/*path}", ["orgs:<org>:read"]],
  ] as const)("are allowed for a subtree and its root if both require the same: %s and %s", (...row) => {
    const [root, subtree, requirement] = row;
    for (const keys of [
      [root, subtree],
      [subtree, root],
    ]) {
      const table = Object.fromEntries(keys.map((key) => [key, requirement]));
      expect(rulesOf(table).map(({ rule }) => rule.key)).toEqual(keys);
      const path = root.replace("GET ", "").replace(":org", "acme");
      expect(keyOf(tableOf(table), "GET", path)).toBe(root);
      expect(tableOf(table).forTarget("GET", path.replace(/(?<=.)\/$/, ""), false)).toMatchObject({
        isExact: true,
      });
      expect(rulesOf(table, table).map(({ rule }) => rule.source)).toEqual(["override", "override"]);
    }
    const different = { [root]: requirement, [subtree]: { anyOf: ["a:b"] } };
    expect(tableIssues(different).map(({ code }) => code)).toEqual(["route_duplicate"]);
  });
});

describe("two spellings of one text at the same place", () => {
  it.each([
    ["GET /agents/y", "GET /Agents/x"],
    ["GET /agents/y", "POST /Agents/y"],
    ["GET /agents/y", "GET /%61gents/x"],
    ["GET /a/caf%c3%a9", "POST /a/caf%C3%A9"],
    ["GET /:id.json/x", "GET /:id.JSON/y"],
    ["GET /:y/:id.json", "POST /:x/:id%2ejson"],
  ])("are a mistake of the custom rule, or of the later one: %s and %s", (first, second) => {
    const custom = ["route_ambiguous", "scopeMappings", second];
    expect(issueCodes({ [first]: ["a:b"], [second]: "public" as const })).toEqual([custom]);
    expect(issueCodes({ [second]: [] }, { [first]: [] })).toEqual([custom]);
    expect(issueCodes({ [first]: [] }, { [second]: [] })).toEqual([
      ["route_ambiguous", "scopeMappings", first],
    ]);
    expect(issueCodes({}, { [second]: [], [first]: [] })).toEqual([
      ["route_ambiguous", "defaultScopeMappings", second],
    ]);
  });

  it.each([
    ["GET /agents/x", "GET /teams/X"],
    ["GET /agents", "GET /:agents"],
    ["GET /:a/x", "GET /b/X"],
  ])("are allowed where no router reads both as one: %s and %s", (first, second) => {
    expect(tableIssues({ [first]: ["a:b"], [second]: "public" as const })).toEqual([]);
  });
});

describe("a compiled table", () => {
  it("has own keys only: a polluted prototype adds no route", () => {
    expect(rulesOf(Object.create({ "GET /admin": "public" }) as ScopeMappings)).toEqual([]);
  });

  it("neither freezes nor follows the objects that it was compiled from", () => {
    const scopes = ["admin:use"];
    const alternatives = { anyOf: ["a:read", "b:read"] };
    const customs: Record<string, Requirement> = { "GET /admin": scopes, "GET /any": alternatives };
    const defaults: Record<string, Requirement> = { "GET /x": ["x:read"] };
    const rules = rulesOf(customs, defaults);
    const before = JSON.stringify(rules);
    expect(changeable([customs, defaults])).toHaveLength(7);

    scopes.length = 0;
    alternatives.anyOf.push("c:read");
    customs["GET /new"] = "public";
    delete defaults["GET /x"];

    expect(JSON.stringify(rules)).toBe(before);
  });

  it("contains only frozen rules, overrides included", () => {
    const customs: ScopeMappings = {
      "GET /agents": { anyOf: ["a:b"] },
      "GET /b": ["a:<any>:b"],
      "GET /d": "public",
    };
    for (const { rule } of rulesOf(customs, DEFAULTS)) expect(changeable(rule), rule.key).toEqual([]);
  });
});
