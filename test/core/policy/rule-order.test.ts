import type { ScopeMappings } from "scopegate";
import { describe, expect, it } from "vitest";
import { createServer, mistakesOf, starts } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

// `test/model` has which tables start. These are scopes and parameters that it doesn't try at crossing paths.

const reversed = (table: ScopeMappings): ScopeMappings =>
  Object.fromEntries(Object.entries(table).toReversed());

const mistakesIn = (scopeMappings: ScopeMappings, options: Partial<ResourceServerOptions> = {}) =>
  mistakesOf(() => createServer({ scopeMappings, ...options })).map((parts) => parts.join(" "));

describe("a table whose order of rules is not total", () => {
  it.each<[string, ScopeMappings]>([
    ["a common prefix", { "GET /api/:a/x": ["a:b"], "GET /api/y/:b": [] }],
    ["texts behind parameters", { "GET /:a.x/x": ["a:b"], "GET /y.x/:b": [] }],
    ["a scope of another parameter", { "GET /:a/x/:c": ["r:<a>:w"], "GET /y/:a/:c": ["r:<a>:w"] }],
    ["one of several scopes", { "GET /:a/x": ["a:b"], "GET /y/:b": { anyOf: ["a:b", "c:d"] } }],
    ["a scope with <any>", { "GET /:a/z/:c": ["a:read"], "GET /y/:b/x": ["a:<any>:read"] }],
    [
      "one rule beside another that requires the same",
      { "GET /:a/z": ["c:d"], "GET /:a/x": ["a:b"], "GET /y/:b": ["a:b"] },
    ],
    ["another part of the segment", { "GET /:a/x/:c": ["r:<a>:w"], "GET /:a.json/:c/:d": ["r:<a>:w"] }],
  ])("does not start, in whatever order it is written: %s", (_, table) => {
    const [key = ""] = Object.keys(table);
    for (const order of [table, reversed(table)])
      expect(mistakesIn(order)).toEqual([`rules_cross scopeMappings ${key}`]);
  });

  it("is a mistake of the base table if its rule does not decide", () => {
    const defaultScopeMappings: ScopeMappings = { "DELETE /{*path}": ["a:b"] };
    expect(mistakesIn({ "* /x": [] }, { defaultScopeMappings })).toEqual([
      "rule_outranked defaultScopeMappings DELETE /{*path}",
    ]);
  });

  it("is a mistake of a HEAD rule that requires less than the rule for every method", () => {
    expect(mistakesIn({ "HEAD /x": [], "* /{*path}": ["a:b"] })).toEqual([
      "rule_outranked scopeMappings HEAD /x",
    ]);
  });

  it("is a mistake of a HEAD rule that a narrower GET rule keeps from deciding", () => {
    expect(mistakesIn({ "GET /x": [], "HEAD /:a": ["a:b"] })).toEqual([
      "rule_outranked scopeMappings HEAD /:a",
    ]);
  });

  it("causes at most 20 mistakes", () => {
    const pairs = Array.from({ length: 10 }, (_, i) => ({
      [`GET /:a/x${i}`]: ["a:b"],
      [`GET /y${i}/:b`]: [],
    }));
    expect(mistakesIn(Object.assign({}, ...pairs) as ScopeMappings)).toHaveLength(20);
  });
});

describe("a table whose order of rules is total", () => {
  it.each<[string, ScopeMappings, Partial<ResourceServerOptions>?]>([
    ["optional", { "GET /:a/x": "optional", "GET /y/:b": "optional" }],
    ["a third rule", { "GET /:p/s": ["a:b"], "GET /d/*p": [], "GET /d/s": ["a:b"] }],
    ["a HEAD rule that requires more", { "GET /{*p}": [], "HEAD /x": ["a:b"] }],
    ["a narrower text", { "GET /i/:name.gz": "public", "GET /i/:name.tar.gz": ["a:b"] }],
    ["a wider scope for all ids", { "GET /:a/x": ["r:<a>:w"], "GET /y/:b": ["r:w"] }],
    ["an id that is certain", { "GET /:a/x": ["r:<a>:w"], "GET /y/:b": ["r:y:w"] }],
    ["an id that is encoded", { "GET /:a/x": ["r:<a>:w"], "GET /%79z/:b": ["r:yz:w"] }],
    ["the same parameter", { "GET /:a/x/:c": ["r:<a>:w"], "GET /:b/:c/y": ["r:<b>:w"] }],
    ["the same parameter before a wildcard", { "GET /:a/x/*p": ["r:<a>:w"], "GET /:b/:c/y": ["r:<b>:w"] }],
    ["the same part of a segment", { "GET /:a.x/x/:c": ["r:<a>:w"], "GET /:b.x/:c/y": ["r:<b>:w"] }],
    ["the part that a text leaves", { "GET /:a.x/x": ["r:<a>:w"], "GET /y.x/:b": ["r:y:w"] }],
    ["every one of several", { "GET /:a/x": { anyOf: ["a:b", "c:d"] }, "GET /y/:b": { anyOf: ["c:d"] } }],
    ["a scope with <any>", { "GET /:a/x": ["a:<any>:read"], "GET /y/:b": ["a:7:read"] }],
    ["two scopes with <any>", { "GET /:a/z/x": ["a:<any>:read"], "GET /y/:b/x": ["a:<any>:read"] }],
    [
      "an implied scope",
      { "GET /:a/x": ["a:b"], "GET /y/:b": ["c:d"] },
      { impliedScopes: { "c:d": ["a:b"] } },
    ],
    ["the admin scope", { "GET /:a/x": ["a:b"], "GET /y/:b": ["root"] }, { adminScope: "root" }],
  ])("starts, in whatever order it is written: %s", (_, table, options) => {
    for (const scopeMappings of [table, reversed(table)])
      expect(starts({ scopeMappings, ...options })).toBe(true);
  });
});

describe("a table with `also`", () => {
  const also = (...scopes: readonly string[]) => ({ scopes: [], also: scopes });

  it.each<[string, ScopeMappings]>([
    [
      "the deciding rule requires the scopes of the other by `also`",
      { "GET /:org/settings": ["a:b"], "GET /acme/:page": also("a:b") },
    ],
    [
      "a third rule requires them by `also`",
      { "* /{*path}": also("a:b"), "GET /:org/settings": ["a:b"], "GET /acme/:page": [] },
    ],
    [
      "`also` has a template of the same place",
      { "GET /:org/x": ["o:<org>:r"], "GET /:tenant/:page": also("o:<tenant>:r"), "GET /acme/:page": [] },
    ],
    ["`also` of GET applies to HEAD", { "GET /a": { scopes: ["a:b"], also: ["a:b"] }, "HEAD /a": [] }],
  ])("starts if %s", (_, scopeMappings) => {
    expect(starts({ scopeMappings })).toBe(true);
  });

  it.each<[string, ScopeMappings]>([
    [
      "the deciding rule is an exception",
      {
        "GET /:org/settings": { scopes: ["a:b"], also: ["a:b"], except: ["GET /acme/:page"] },
        "GET /acme/:page": [],
      },
    ],
    [
      "only a rule for another method has it",
      { "POST /{*path}": also("a:b"), "GET /:org/settings": ["a:b"], "GET /acme/:page": [] },
    ],
  ])("does not start if %s", (_, table) => {
    expect(mistakesIn(table)).toEqual(["rules_cross scopeMappings GET /:org/settings"]);
  });
});
