import { describe, expect, it } from "vitest";
import { type Requirement, type ScopeMappings } from "../../src/policy/requirement.ts";
import { answerOf, changeable, keyOf, matchOf, rulesOf, tableIssues, tableOf } from "../support/policy.ts";

const sourcesOf = (customs: ScopeMappings, defaults: ScopeMappings) =>
  rulesOf(customs, defaults).map(({ rule }) => [rule.source, rule.key]);

const issueCodes = (customs: ScopeMappings, defaults: ScopeMappings = {}) =>
  tableIssues(customs, defaults).map(({ code, path }) => [code, ...path]);

const DEFAULTS: ScopeMappings = {
  "GET /agents": { filtered: "agents:read" },
  "GET /agents/:agent_id": ["agents:<agent_id>:read"],
  "GET /files/*path": ["files:read"],
};

describe("the effective table", () => {
  it("is the default table and the custom one added to it", () => {
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
  ])("takes the custom %s for the default %s, whatever its parameter is called", (custom, replaced) => {
    const sources = sourcesOf({ [custom]: [] }, DEFAULTS);
    expect(sources).toHaveLength(3);
    expect(sources).toContainEqual(["override", custom]);
    if (custom !== replaced) expect(sources.flat()).not.toContain(replaced);
  });

  it.each([
    "* /agents",
    "HEAD /agents",
    "POST /agents",
    "GET /agents/me",
    "GET /agents/*agent_id",
    "GET /agents/:id/x",
    "GET /files/:path",
    "GET /agents/:id.json",
  ])("keeps every default beside the custom %s, which is another route", (custom) => {
    const sources = sourcesOf({ [custom]: [] }, DEFAULTS);
    expect(sources).toHaveLength(4);
    expect(sources).toContainEqual(["custom", custom]);
    expect(sources.filter(([source]) => source === "default")).toHaveLength(3);
  });

  it("lists the defaults that are left first, then the customs, in the order of writing", () => {
    const customs = { "POST /x": [], "GET /agents": [], "GET /y": [] };
    expect(sourcesOf(customs, DEFAULTS)).toEqual([
      ["default", "GET /agents/:agent_id"],
      ["default", "GET /files/*path"],
      ["custom", "POST /x"],
      ["override", "GET /agents"],
      ["custom", "GET /y"],
    ]);
  });

  it("takes a custom rule with optional groups for every default that it has in common", () => {
    const customs: ScopeMappings = { "GET /agents{/:id}": ["custom:read"] };
    expect(sourcesOf(customs, DEFAULTS)).toEqual([
      ["default", "GET /files/*path"],
      ["override", "GET /agents{/:id}"],
    ]);
    const table = tableOf(customs, DEFAULTS);
    for (const target of ["/agents", "/agents/web"])
      expect(keyOf(answerOf(table, "GET", target)), target).toBe("GET /agents{/:id}");
  });

  it("keeps what is left of a default with optional groups", () => {
    const defaults: ScopeMappings = { "GET /agents{/:id}{/x}": ["agents:read"] };
    const customs: ScopeMappings = { "GET /agents/:name": "public" };
    expect(sourcesOf(customs, defaults)).toEqual([
      ["default", "GET /agents{/:id}{/x}"],
      ["override", "GET /agents/:name"],
    ]);
    const table = tableOf(customs, defaults);
    for (const target of ["/agents", "/agents/x", "/agents/web/x"])
      expect(keyOf(answerOf(table, "GET", target)), target).toBe("GET /agents{/:id}{/x}");
    expect(keyOf(answerOf(table, "GET", "/agents/web"))).toBe("GET /agents/:name");
  });

  it("drops a default of which several customs leave nothing", () => {
    const customs: ScopeMappings = { "GET /a": ["x:y"], "GET /a/:b": "public" };
    expect(sourcesOf(customs, { "GET /a{/:id}": [] })).toEqual([
      ["override", "GET /a"],
      ["override", "GET /a/:b"],
    ]);
  });

  it("asks what the custom rule asks, with the custom rule's parameters", () => {
    const table = tableOf({ "GET /agents/:id": ["custom:<id>:read"] }, DEFAULTS);
    const match = matchOf(table, "GET", "/agents/web");
    expect(match.compiled.rule).toMatchObject({ source: "override", requirement: ["custom:<id>:read"] });
    expect(match.parameter("id")).toBe("web");
    expect(match.parameter("agent_id")).toBe("");
  });

  it("reads a template by the parameters of its own key", () => {
    expect(issueCodes({ "GET /agents/:id": ["agents:<agent_id>:read"] }, DEFAULTS)).toEqual([
      ["template_unknown", "scopeMappings", "GET /agents/:id", 0],
    ]);
  });
});

describe("two keys for one route", () => {
  it.each([
    ["GET /agents/:id", "GET /agents/:agent_id"],
    ["GET /files/*path", 'GET /files/*"*"'],
    ["GET /:from-:to", "GET /:a-:b"],
    ["* /a{/:b}", "* /a{/:c}"],
    // Optional groups that overlap, whatever else they match.
    ["GET /a{/b}", "GET /a"],
    ["GET /a{/:b}", "GET /a/:id"],
    ["GET /a{/b}", "GET /a{/c}"],
    ["GET /:id{.json}", "GET /:name.json"],
  ])("in one table are a mistake: %s and %s", (first, second) => {
    for (const requirement of [["a:b"], []]) {
      expect(issueCodes({ [first]: ["a:b"], [second]: requirement })).toContainEqual([
        "route_duplicate",
        "scopeMappings",
        second,
      ]);
      expect(issueCodes({}, { [first]: ["a:b"], [second]: requirement })).toContainEqual([
        "route_duplicate",
        "defaultScopeMappings",
        second,
      ]);
    }
    const [issue] = tableIssues({ [first]: [], [second]: [] });
    expect(issue?.message).toContain(`\`${first}\``);
    expect(issue?.hint).toContain("Keep one of the two");
  });

  it("are fine with different methods", () => {
    expect(
      tableIssues({ "GET /a": [], "POST /a": ["a:b"], "* /a": "public", "HEAD /a": "optional" }),
    ).toEqual([]);
  });
});

describe("lookalikes", () => {
  const pairs: readonly (readonly [string, string])[] = [
    ["GET /agents", "GET /Agents"],
    ["GET /agents", "GET /agents/"],
    ["GET /agents", "GET /AGENTS/"],
    ["GET /agents/:id", "GET /Agents/:agent_id"],
    ["GET /agents/:id", "GET /agents/:id/"],
    ["GET /files/*path", "GET /FILES/*rest"],
    ["GET /v:id.json", "GET /V:id.JSON"],
    ["GET /a{/b}", "GET /A{/B}"],
    ["GET /a{/:b}", "GET /a{/:b}/"],
    ["* /a", "* /A"],
  ];

  it.each(pairs)("that ask for something else are a mistake: %s and %s", (first, second) => {
    const places = [
      ["route_ambiguous", "scopeMappings", second],
      ["route_ambiguous", "scopeMappings", first],
    ];
    expect(issueCodes({ [first]: ["a:b"], [second]: "public" })).toEqual([places[0]]);
    expect(issueCodes({ [second]: "public", [first]: ["a:b"] })).toEqual([places[1]]);
    expect(issueCodes({ [second]: "public" }, { [first]: ["a:b"] })).toEqual([places[0]]);
    expect(issueCodes({}, { [first]: ["a:b"], [second]: "public" })).toEqual([
      ["route_ambiguous", "defaultScopeMappings", second],
    ]);
    const [issue] = tableIssues({ [first]: ["a:b"], [second]: "public" });
    expect(issue?.message).toContain(`\`${first}\``);
    expect(issue?.hint).toContain("write the key as the other one is written");
  });

  it("are told once, where the first of several asks for something else", () => {
    expect(issueCodes({ "GET /a": ["a:b"], "GET /A": "public", "GET /a/": ["a:b"] })).toEqual([
      ["route_ambiguous", "scopeMappings", "GET /A"],
    ]);
  });

  it.each(pairs)("that ask for the same are fine: %s and %s", (first, second) => {
    const requirements: readonly Requirement[] = [
      "public",
      [],
      ["a:b", "c:d"],
      { anyOf: ["a:b"] },
      { filtered: "a:b" },
    ];
    for (const requirement of requirements) {
      expect(tableIssues({ [first]: requirement, [second]: requirement })).toEqual([]);
      expect(tableIssues({ [second]: requirement }, { [first]: requirement })).toEqual([]);
    }
  });

  const requirements: readonly Requirement[] = [
    "public",
    "optional",
    [],
    ["a:b"],
    ["a:b", "c:d"],
    { anyOf: ["a:b"] },
    { filtered: "a:b" },
  ];

  it.each(requirements)(
    "do not ask for the same when one asks for %j and the other for anything else",
    (one) => {
      for (const other of requirements) {
        expect(tableIssues({ "GET /a": one, "GET /A": other }).length === 0).toBe(other === one);
      }
    },
  );

  it.each([
    ["GET /agents", "POST /Agents"],
    ["GET /agents", "* /Agents"],
    ["GET /agents", "GET /agents/x"],
    ["GET /agents", "GET /:agents"],
    ["GET /:id", "GET /*id"],
    ["GET /a-b", "GET /ab"],
    ["GET /a/b", "GET /ab"],
  ])("are not %s and %s", (first, second) => {
    expect(tableIssues({ [first]: ["a:b"], [second]: "public" })).toEqual([]);
  });
});

describe("what a rule means", () => {
  const meanings = (customs: ScopeMappings) => rulesOf(customs).map(({ meaning }) => meaning);

  it.each([
    ["public", "public"],
    [["a:b"], ["a:b"]],
    [{ anyOf: ["a:b"] }, { anyOf: ["a:b"] }],
    [{ filtered: "a:b" }, { filtered: "a:b" }],
  ] satisfies (readonly [Requirement, Requirement])[])(
    "is the same for %j and %j, whatever the route",
    (one, other) => {
      expect(new Set(meanings({ "GET /x/:a": one, "GET /*rest": other })).size).toBe(1);
    },
  );

  it("is another for every other requirement", () => {
    const requirements: readonly Requirement[] = [
      "public",
      "optional",
      [],
      ["a:b"],
      ["a:b", "c:d"],
      { anyOf: ["a:b"] },
      { filtered: "a:b" },
      ["<a>:b"],
      { anyOf: ["<a>:b"] },
    ];
    const customs = Object.fromEntries(requirements.map((one, index) => [`GET /${index}/:a`, one]));
    expect(new Set(meanings(customs)).size).toBe(requirements.length);
  });

  it("is another where the parameter of a scope stands in another place", () => {
    const asked = ["agents:<a>:read"];
    expect(new Set(meanings({ "GET /x/:a/:b": asked, "GET /y/:a/:b": asked, "GET /x/*a": asked })).size).toBe(
      3,
    );
    expect(issueCodes({ "GET /x/:a/:b": asked, "GET /X/:b/:a": asked })).toEqual([
      ["route_ambiguous", "scopeMappings", "GET /X/:b/:a"],
    ]);
    expect(issueCodes({ "GET /x/:a/:b": asked, "GET /X/:a/:b/": asked })).toEqual([]);
  });
});

describe("the mistakes of a table", () => {
  it("are all listed, each with its place", () => {
    const customs: ScopeMappings = {
      "get /a": [],
      "GET  /b": [],
      "GET /files/*": [],
      "GET /c//d": [],
      "GET /e": ["f::g", "h i"],
      "GET /j": { anyOf: [] },
      "GET /k": ["k:<id>:read"],
      "GET /ok": ["a:b"],
    };
    expect(issueCodes(customs, { "GTE /l": [] })).toEqual([
      ["route_method_unknown", "defaultScopeMappings", "GTE /l"],
      ["route_method_unknown", "scopeMappings", "get /a"],
      ["route_key_invalid", "scopeMappings", "GET  /b"],
      ["route_pattern_invalid", "scopeMappings", "GET /files/*"],
      ["route_unreachable", "scopeMappings", "GET /c//d"],
      ["scope_invalid", "scopeMappings", "GET /e", 0],
      ["scope_invalid", "scopeMappings", "GET /e", 1],
      ["requirement_invalid", "scopeMappings", "GET /j"],
      ["template_unknown", "scopeMappings", "GET /k", 0],
    ]);
  });

  it("read own keys only: a polluted prototype adds no route", () => {
    const table = Object.create({ "GET /admin": "public" }) as ScopeMappings;
    expect(rulesOf(table)).toEqual([]);
  });
});

describe("a compiled table", () => {
  it("does not change when the objects it was made of do", () => {
    const scopes = ["admin:use"];
    const alternatives = { anyOf: ["a:read", "b:read"] };
    const filtered = { filtered: "agents:read" };
    const customs: Record<string, Requirement> = {
      "GET /admin": scopes,
      "GET /any": alternatives,
      "GET /list": filtered,
    };
    const defaults: Record<string, Requirement> = { "GET /x": ["x:read"] };
    const rules = rulesOf(customs, defaults);
    const before = JSON.stringify(rules);
    const table = tableOf(customs, defaults);

    scopes.length = 0;
    alternatives.anyOf.push("c:read");
    filtered.filtered = "agents:list";
    customs["GET /admin"] = "public";
    customs["GET /new"] = "public";
    delete defaults["GET /x"];

    expect(JSON.stringify(rules)).toBe(before);
    expect(matchOf(table, "GET", "/admin").compiled.requirement).toMatchObject({
      kind: "allOf",
      scopes: [{ text: "admin:use" }],
    });
    expect(matchOf(table, "GET", "/any").compiled.rule.requirement).toEqual({ anyOf: ["a:read", "b:read"] });
    expect(matchOf(table, "GET", "/list").compiled.rule.requirement).toEqual({ filtered: "agents:read" });
    expect(keyOf(answerOf(table, "GET", "/new"))).toBe("unmapped");
    expect(keyOf(answerOf(table, "GET", "/x"))).toBe("GET /x");
  });

  it("leaves the objects it was made of alone", () => {
    const customs: Record<string, Requirement> = { "GET /a": ["a:b"], "GET /b": { anyOf: ["a:b"] } };
    rulesOf(customs, customs);
    expect(changeable(customs)).toHaveLength(4);
  });

  it("holds frozen rules, overrides included", () => {
    const customs: ScopeMappings = {
      "GET /agents": { anyOf: ["a:b"] },
      "GET /b": { filtered: "a:b" },
      "GET /c": ["a:b"],
      "GET /d": "public",
    };
    for (const { rule } of rulesOf(customs, DEFAULTS)) expect(changeable(rule), rule.key).toEqual([]);
  });
});
