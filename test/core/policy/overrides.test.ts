import { describe, expect, it } from "vitest";
import {
  agentScopeMappings,
  ConfigurationError,
  mergeScopeMappings,
  type ScopeMappings,
} from "scopegate/complete";
import { createServer, mistakesOf } from "../../support/resource-servers.ts";

const start = (scopeMappings: ScopeMappings, defaultScopeMappings: ScopeMappings) => () =>
  createServer({ scopeMappings, defaultScopeMappings });

type Values = readonly [ScopeMappings[string], ScopeMappings[string]];

describe("a custom rule for the route of a default rule", () => {
  it.each<Values>([
    [["a:read"], []],
    [["a:read"], "public"],
    [[], "optional"],
    [["a:read", "b:read"], ["a:read"]],
    [["a:read"], { anyOf: ["a:read", "b:read"] }],
    [["a:read"], { filtered: "a:read" }],
    [["a:read"], ["a:7:read"]],
    [["a:read"], { scopes: [], report: ["a:read"] }],
    [{ scopes: ["a:read"], report: ["b:read"] }, []],
  ])("does not start if the default requires %j, and it requires %j", (base, custom) => {
    const tables = [{ "GET /x": custom }, { "GET /x": base }] as const;
    expect(mistakesOf(start(...tables))).toEqual([["override_weaker", "scopeMappings", "GET /x"]]);
    expect(start({ "GET /x": { override: custom as never } }, tables[1])).not.toThrow();
  });

  it.each<Values>([
    [["a:read"], ["a:read"]],
    [[], ["a:read"]],
    ["public", []],
    [["a:read"], ["b:read"]],
    [["a:7:read"], ["a:read"]],
    [["a:read"], { report: ["b:read"] }],
    [["a:read"], { scopes: ["a:read", "b:read"], report: ["c:read"] }],
  ])("starts if the default requires %j, and it requires %j", (base, custom) => {
    expect(start({ "GET /x": custom }, { "GET /x": base })).not.toThrow();
  });

  it("compares the places of parameters, not their names", () => {
    const base: ScopeMappings = { "GET /a/:id": ["a:<id>:read"] };
    expect(start({ "GET /a/:key": ["a:<key>:read"] }, base)).not.toThrow();
    expect(mistakesOf(start({ "GET /a/:key": [] }, base))).toHaveLength(1);
    const operations: ScopeMappings = { "MCP tools/call x": ["a:<id>:use"] };
    expect(start({ "MCP tools/call x": ["a:<id>:use"] }, operations)).not.toThrow();
    expect(mistakesOf(start({ "MCP tools/call x": [] }, operations))).toHaveLength(1);
  });

  it.each([
    ["GET /a/:x/:y", ["a:<x>:read", "b:read"], ["a:<y>:read"]],
    ["MCP tools/call x", ["a:<x>:read", "b:read"], ["a:<y>:read"]],
    ["GET /a", "public", "public"],
    ["GET /a", { filtered: "a:read" }, { filtered: "a:read" }],
  ])("starts at %s, if it requires something else than %j: %j", (key, base, custom) => {
    expect(start({ [key]: custom as never }, { [key]: base as never })).not.toThrow();
  });

  it("names the conditions of the rule that it replaces", () => {
    const conditions = { where: { id: { claim: "org" } }, maxAuthAgeSeconds: 60 };
    const base: ScopeMappings = { "GET /a/:id": { scopes: ["a:read"], ...conditions } };
    expect(start({ "GET /a/:id": ["a:read"] }, base)).toThrow(
      '`GET /a/:id` (a:read; id is the claim org; the user has logged in within 60 s). If that\'s intended, write { override: ["a:read"] }.',
    );
  });

  it.each(["/a/:N.json", "/a/*N", "/a/:x/:N"])("compares any kind of parameter: %s", (path) => {
    const tables = [
      { [`GET ${path.replace("N", "custom")}`]: ["a:<custom>:read"] },
      { [`GET ${path.replace("N", "base")}`]: ["a:<base>:read", "audit:read"] },
    ] as const;
    expect(mistakesOf(start(...tables)).map(([code]) => code)).toEqual(["override_weaker"]);
    expect(start(tables[1], tables[0])).not.toThrow();
  });

  it("replaces a default rule for every method, too", () => {
    const base: ScopeMappings = { "* /admin": ["admin:use"] };
    expect(mistakesOf(start({ "GET /admin": "public" }, base)).map(([code]) => code)).toContain(
      "override_weaker",
    );
    expect(start({ "GET /admin": { override: [] } }, base)).not.toThrow();
    expect(start({ "GET /admin": ["admin:use", "x:y"] }, base)).not.toThrow();
    expect(start({ "* /admin": ["admin:own"], "GET /admin": [] }, base)).not.toThrow();
  });

  it("names it with what to write", () => {
    expect(start({ "GET /agents/:id": [] }, agentScopeMappings)).toThrow(
      "requires less than the base table's rule that it replaces, `GET /agents/:agent_id` (agents:<agent_id>:read). If that's intended, write { override: [] }.",
    );
  });
});

describe("{ override }", () => {
  it("does not start if it replaces nothing, and names a similar route", () => {
    expect(start({ "GET /agnets": { override: [] } }, agentScopeMappings)).toThrow(
      "replaces no rule of the base table. Did you mean `GET /agents`?",
    );
    expect(start({ "GET /elsewhere": { override: [] } }, agentScopeMappings)).toThrow(
      "replaces no rule of the base table. Write the requirement without { override }.",
    );
    expect(mistakesOf(start({}, { "GET /x": { override: [] } }))).toEqual([
      ["override_unneeded", "defaultScopeMappings", "GET /x"],
    ]);
  });

  it("accepts any other value", () => {
    expect(
      start({ "GET /x": { override: { anyOf: ["a:b"], report: ["c:d"] } } }, { "GET /x": [] }),
    ).not.toThrow();
  });
});

describe("a custom rule for every method", () => {
  it("does not start if default rules of exact methods would still decide, and names them", () => {
    expect(start({ "* /sessions/:id": ["ops:use"] }, agentScopeMappings)).toThrow(
      "doesn't replace `GET /sessions/:session_id`, `PATCH /sessions/:session_id`, `DELETE /sessions/:session_id` of the base table",
    );
  });

  it("starts next to custom rules of these methods, and at another path", () => {
    const exact: ScopeMappings = { "GET /teams/:id": ["teams:<id>:read"], "* /teams/:id": ["ops:use"] };
    expect(start(exact, agentScopeMappings)).not.toThrow();
    expect(start({ "* /teams/:id/members": ["ops:use"] }, agentScopeMappings)).not.toThrow();
    expect(start({}, { "* /teams/:id": ["ops:use"], "GET /teams/:id": [] })).not.toThrow();
    expect(start({ "POST /teams/:id": ["ops:use"] }, { "GET /teams/:id": [] })).not.toThrow();
  });
});

describe("mergeScopeMappings", () => {
  it("replaces the rules of the same routes, whatever the names of parameters, and adds the others", () => {
    const merged = mergeScopeMappings(
      { "GET /a/:id": ["a:<id>:read"], "GET /b": [], "MCP tools/list": [] },
      { "GET /a/:key": ["a:<key>:read", "b:read"], "GET /c": "public" },
      { "GET /c": ["c:read"], "MCP tools/list": ["m:read"] },
    );
    expect(merged).toEqual({
      "GET /b": [],
      "GET /a/:key": ["a:<key>:read", "b:read"],
      "GET /c": ["c:read"],
      "MCP tools/list": ["m:read"],
    });
    expect(Object.isFrozen(merged)).toBe(true);
  });

  it("keeps the other paths of a rule with optional groups", () => {
    const merged = mergeScopeMappings({ "GET /a{/:id}": ["a:read"] }, { "GET /a": ["a:list"] });
    expect(Object.keys(merged)).toEqual(["GET /a/:id", "GET /a"]);
  });

  it("refuses what scopeMappings over defaultScopeMappings would refuse", () => {
    const merge = (layer: ScopeMappings) => () => mergeScopeMappings(agentScopeMappings, layer);
    expect(mistakesOf(merge({ "GET /agents": [] }))).toEqual([
      ["override_weaker", "scopeMappings", "GET /agents"],
    ]);
    expect(mistakesOf(merge({ "get /agents": [] }))).toEqual([
      ["route_method_unknown", "scopeMappings", "get /agents"],
    ]);
    expect(merge({ "GET /agents": { override: [] } })()).toMatchObject({ "GET /agents": [] });
  });

  it("refuses values that createResourceServer refuses, in every layer", () => {
    const wrong = { "GET /x": { scope: ["x:y"] } } as unknown as ScopeMappings;
    expect(mistakesOf(() => mergeScopeMappings(wrong, {}))).toEqual([
      ["requirement_invalid", "defaultScopeMappings", "GET /x"],
    ]);
    for (const layer of [
      wrong,
      [],
      new Map(),
      null,
      5,
      { "GET /x": "Public" },
      { "GET /x": { scopes: [], anyOf: ["a:b"] } },
    ])
      expect(() => mergeScopeMappings({}, layer as unknown as ScopeMappings), JSON.stringify(layer)).toThrow(
        ConfigurationError,
      );
  });

  it("knows that the admin scope requires more than any other", () => {
    const merge = () => mergeScopeMappings({ "GET /x": ["platform:admin"] }, { "GET /x": ["x:read"] });
    expect(mistakesOf(merge).map(([code]) => code)).toEqual(["override_weaker"]);
  });

  it("refuses a later rule that is only reported, which would lose the rule that stays enforced", () => {
    const merge = () => mergeScopeMappings({ "GET /a": ["a:read"] }, { "GET /a": { report: ["b:read"] } });
    const mergePart = () =>
      mergeScopeMappings({ "GET /a{/:id}": ["s:read"] }, { "GET /a/:id": { report: ["r:read"] } });
    expect(mergePart).toThrow("Write what stays enforced next to it");
    expect(merge).toThrow("Write what stays enforced next to it: { scopes: [...], report: [...] }.");
  });
});
