import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findMatchedRoute } from "../../src/policy/matched-route.ts";
import { type ScopeMappings } from "../../src/policy/requirement.ts";
import { RouteIndex } from "../../src/policy/route-index.ts";
import { type AccessRequest, readPath } from "../../src/request.ts";
import {
  getTable,
  type Kind,
  kinds,
  pathOf,
  PROPERTY,
  rulesOf,
  samplePaths,
  sourceOf,
  textOf,
} from "../support/policy.ts";

const tableFor = (...keys: readonly string[]): ScopeMappings =>
  Object.fromEntries(keys.map((key) => [key, "public"]));

function match(
  table: ScopeMappings,
  pattern: string,
  {
    method = "GET",
    params,
    target = "/",
  }: { method?: string; params?: AccessRequest["params"]; target?: string } = {},
) {
  return findMatchedRoute(rulesOf(table), method, pattern)?.match(params, readPath(target) ?? pathOf([]));
}

const keyFor = (table: ScopeMappings, pattern: string, method = "GET") =>
  match(table, pattern, { method })?.compiled.rule.key ?? "unmapped";

const shuffled = <T>(items: readonly T[]) => fc.shuffledSubarray([...items], { minLength: items.length });

describe("the rule of a matched route", () => {
  const keys = [
    "* /*path",
    "GET /agents",
    "GET /agents/:id",
    "GET /agents/me",
    "GET /agents/:id.json",
    "GET /agents/:id/*rest",
    "GET /files/*path",
    "GET /files/:name",
    "GET /files/:name/raw",
    "POST /agents",
    "* /health",
    "HEAD /agents",
    "GET /docs{/:page}",
    "GET /slash/",
  ];

  const cases: readonly (readonly [string, string, string])[] = [
    ["GET", "/agents", "GET /agents"],
    ["GET", "/agents/", "GET /agents"],
    ["GET", "/slash", "GET /slash/"],
    ["GET", "/slash/", "GET /slash/"],
    ["GET", "/agents/:agent_id", "GET /agents/:id"],
    ["GET", "/agents/web", "GET /agents/:id"],
    ["GET", "/agents/me", "GET /agents/me"],
    ["GET", "/agents/web.json", "GET /agents/:id.json"],
    ["GET", "/agents/:name.json", "GET /agents/:id.json"],
    ["GET", "/agents/:a/runs/:b", "GET /agents/:id/*rest"],
    ["GET", "/files/:name", "GET /files/:name"],
    ["GET", "/files/readme", "GET /files/:name"],
    ["GET", "/files/readme/raw", "GET /files/:name/raw"],
    ["GET", "/files/readme/html", "GET /files/*path"],
    ["GET", "/docs", "GET /docs{/:page}"],
    ["GET", "/docs/:x", "GET /docs{/:page}"],
    ["GET", "/docs{/:x}", "GET /docs{/:page}"],
    // A rule for a part of the route says nothing of the rest of it.
    ["GET", '/files/*"*"', "GET /files/*path"],
    ["GET", '/agents/*"*"', "* /*path"],
    ["GET", "/:section", "* /*path"],
    ["GET", "/:section/me", "* /*path"],
    ["GET", "/agents{/:id}", "* /*path"],
    ["GET", '/*"*"', "* /*path"],
    // Methods.
    ["POST", "/agents", "POST /agents"],
    ["POST", "/health", "* /health"],
    ["GET", "/health", "* /health"],
    ["HEAD", "/agents", "HEAD /agents"],
    ["HEAD", "/agents/me", "GET /agents/me"],
    ["OPTIONS", "/agents", "* /*path"],
    ["get", "/agents", "* /*path"],
    // Nothing covers the root, and case counts.
    ["GET", "/", "unmapped"],
    ["GET", "/Agents", "* /*path"],
  ];

  it.each(cases)("%s %s is %s", (method, pattern, expected) => {
    expect(keyFor(tableFor(...keys), pattern, method)).toBe(expected);
  });

  it("does not depend on the order of writing", () => {
    fc.assert(
      fc.property(shuffled(keys), (order) => {
        const table = tableFor(...order);
        for (const [method, pattern, expected] of cases)
          expect(keyFor(table, pattern, method)).toBe(expected);
      }),
      { ...PROPERTY, numRuns: 50 },
    );
  });

  it.each([
    ["/agents/:id", ["GET /agents/me", "GET /agents/:id.json"]],
    ['/files/*"*"', ["GET /files/:name", "GET /files/:name/raw", "GET /files/a"]],
    ["/agents{/:id}", ["GET /agents", "GET /agents/:id"]],
    ["/agents", ["POST /agents", "HEAD /agents", "GET /Agents"]],
    ["/*path", ["GET /:a", "GET /", "GET /a/*path"]],
    ["/", ["GET /*path", "GET /:id"]],
  ])("is none for %s where no rule covers all of it: %j", (pattern, rules) => {
    expect(keyFor(tableFor(...rules), pattern)).toBe("unmapped");
  });

  it.each([
    "",
    "agents",
    "*",
    "/files/*",
    "/agents/:id?",
    "/:id(\\d+)",
    "/a//b",
    "/a/../b",
    "/café",
    "/a#b",
    "/(.*)",
  ])("is none for the pattern %j, which cannot be read", (pattern) => {
    expect(findMatchedRoute(rulesOf(tableFor("* /*path", "* /")), "GET", pattern)).toBeUndefined();
  });

  it("covers every path of the route, whatever the table", () => {
    fc.assert(
      fc.property(tables, ends(), (table, route) => {
        const rules = rulesOf(getTable(table.map(sourceOf)));
        const found = findMatchedRoute(rules, "GET", sourceOf(route))?.match(undefined, pathOf([]));
        if (!found) return;
        const index = new RouteIndex([found.compiled]);
        for (const path of samplePaths(route))
          expect(index.find("GET", textOf(path)), path.join("/")).toBeDefined();
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
  });

  it("of a route without parameters is the rule of its path", () => {
    const paths = fc.array(fc.constantFrom<Kind>("a", "b"), { maxLength: 4 });
    fc.assert(
      fc.property(tables, paths, (table, route) => {
        const rules = rulesOf(getTable(table.map(sourceOf)));
        const byPath = new RouteIndex(rules).find("GET", textOf(route));
        const byPattern = findMatchedRoute(rules, "GET", sourceOf(route))?.match(undefined, pathOf(route));
        expect(byPattern?.compiled.rule.key).toBe(byPath?.compiled.rule.key);
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
  });

  /** Patterns whose wildcard, if any, is the last segment. */
  function ends(): fc.Arbitrary<Kind[]> {
    return fc
      .tuple(fc.array(fc.constantFrom<Kind>("a", "b", "mixed", "parameter"), { maxLength: 3 }), fc.boolean())
      .map(([all, isOpen]): Kind[] => (isOpen ? [...all, "wildcard"] : all));
  }
  const tables = fc.uniqueArray(ends(), { minLength: 1, maxLength: 8, selector: sourceOf });
});

describe("the other rules for a part of a matched route", () => {
  const contains = (pattern: string, key: string) => {
    const route = findMatchedRoute(rulesOf(tableFor("GET /*path", "GET /")), "GET", pattern);
    const [other] = rulesOf(tableFor(key));
    if (!route || !other) throw new Error(`${pattern} is not covered.`);
    return route.contains(other);
  };

  it.each([
    ["/agents/:id", "GET /agents/me"],
    ["/agents/:id", "GET /agents/me/"],
    ["/agents/:id", "GET /agents/:from-:to"],
    ["/agents/:id", "GET /agents/:other"],
    ['/files/*"*"', "GET /files/:a/:b"],
    ['/files/*"*"', "GET /files/a{/b}"],
    ["/a{/b}/:x", "GET /a/1"],
    ["/a{/b}/:x", "GET /a/b/1"],
  ])("%s contains %s", (pattern, key) => {
    expect(contains(pattern, key)).toBe(true);
  });

  it.each([
    ["/agents/:id", "GET /agents"],
    ["/agents/:id", "GET /*path"],
    ["/agents/:id", "GET /:section/me"],
    ["/agents/:id", "GET /agents/me{/x}"],
    ["/agents/:id.json", "GET /agents/:id"],
    ["/agents/me", "GET /agents/:id"],
    ["/agents", "GET /Agents"],
  ])("%s does not contain all of %s", (pattern, key) => {
    expect(contains(pattern, key)).toBe(false);
  });

  it("are in it with every path", () => {
    fc.assert(
      fc.property(kinds(), kinds(), (route, other) => {
        fc.pre(route.length > 0);
        if (!contains(sourceOf(route), `GET ${sourceOf(other)}`)) return;
        const index = new RouteIndex(rulesOf(getTable([sourceOf(route)])));
        for (const path of samplePaths(other))
          expect(index.find("GET", textOf(path)), path.join("/")).toBeDefined();
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
  });
});

describe("the parameters of a matched route", () => {
  it.each([
    ["/files/x", { path: "x" }, "x"],
    // One may be as long as it likes: which of the two was matched cannot be told.
    ["/files/raw/x", { path: "x" }, ""],
    ["/files/raw/x/y", { path: "x/y" }, ""],
  ])(
    "are those of the alternatives that are as long as %s, a wildcard as long as need be",
    (target, params, rest) => {
      const table = { "GET /files/*rest": ["files:<rest>:read"] };
      expect(match(table, "/files{/raw}/*path", { target, params })?.parameter("rest")).toBe(rest);
    },
  );

  it("are empty where the path is none of the route, as behind a mount that nobody told", () => {
    const table = { "GET /:id": ["agents:<id>:read"] };
    expect(match(table, "/:id", { target: "/web" })?.parameter("id")).toBe("web");
    expect(match(table, "/:id", { target: "/web/" })?.parameter("id")).toBe("web");
    expect(match(table, "/:id", { target: "/web/x" })?.parameter("id")).toBe("");
  });

  it("keep their letter case where that of the route does not count", () => {
    const rules = rulesOf({ "GET /agents/:id": ["agents:<id>:read"] });
    const route = findMatchedRoute(rules, "GET", "/Agents/:id", true);
    expect(route?.match(undefined, pathOf(["AGENTS", "Web"])).parameter("id")).toBe("Web");
    expect(findMatchedRoute(rules, "GET", "/Agents/:id", false)).toBeUndefined();
  });

  const parameter = (
    key: string,
    pattern: string,
    name: string,
    request: { params?: AccessRequest["params"]; target?: string },
  ) => match(tableFor(key), pattern, request)?.parameter(name);

  it.each([
    // By position: the names of the route and of the rule are their own.
    ["GET /agents/:id", "/agents/:agent_id", { agent_id: "web" }, { id: "web" }],
    ["GET /:a/:b", "/:b/:a", { a: "1", b: "2" }, { a: "2", b: "1" }],
    ["GET /:a-:b", "/:x-:y", { x: "1", y: "2" }, { a: "1", b: "2" }],
    // A static segment of the route, decoded as a handler would see it.
    ["GET /agents/:id", "/agents/web", {}, { id: "web" }],
    ["GET /agents/:id", "/agents/caf%C3%A9", {}, { id: "café" }],
    ["GET /:a/:b", "/agents/:id", { id: "web" }, { a: "agents", b: "web" }],
    ["GET /:from-:to", "/ham-muc", {}, { from: "ham", to: "muc" }],
    // A mixed segment of the route under a parameter of the rule.
    ["GET /agents/:id", "/agents/:name.json", { name: "web" }, { id: "web.json" }],
    ["GET /agents/:id", "/agents/:a-:b", { a: "1", b: "2" }, { id: "1-2" }],
    // Wildcards, as Fastify names them, as a list, and over several segments.
    ["GET /files/*path", '/files/*"*"', { "*": "a/b" }, { path: "a/b" }],
    ["GET /files/*path", "/files/*rest", { rest: ["a", "b"] }, { path: "a/b" }],
    ["GET /*path", "/files/:id/raw", { id: "x" }, { path: "files/x/raw" }],
    ["GET /*path", '/files/*"*"', { "*": "a/b" }, { path: "files/a/b" }],
    ["GET /*dir/:name", "/a/b/:file", { file: "c" }, { dir: "a/b", name: "c" }],
    // Values are the framework's, decoded already, and are not decoded again.
    ["GET /agents/:id", "/agents/:x", { x: "web:admin" }, { id: "web:admin" }],
    ["GET /agents/:id", "/agents/:x", { x: "100%" }, { id: "100%" }],
    ["GET /agents/:id", "/agents/:x", { x: "%2e" }, { id: "%2e" }],
    // Fastify matches an empty parameter: no id is not some id.
    ["GET /agents/:id", "/agents/:x", { x: "" }, { id: "" }],
    ["GET /files/*path", '/files/*"*"', { "*": "" }, { path: "" }],
  ] satisfies (readonly [string, string, Record<string, string | string[]>, Record<string, string>])[])(
    "of %s, by %s with %j, are %j",
    (key, pattern, params, expected) => {
      const found = match(tableFor(key), pattern, { params });
      const names = Object.keys(expected);
      expect(Object.fromEntries(names.map((name) => [name, found?.parameter(name)]))).toEqual(expected);
    },
  );

  it.each([
    ["GET /agents/:id", "/agents/:x", {}],
    ["GET /agents/:id", "/agents/:x", { id: "web" }],
    ["GET /agents/:id", "/agents/:x", { x: undefined }],
    ["GET /agents/:id", "/agents/:a-:b", { a: "1" }],
    ["GET /agents/:toString", '/agents/:"toString"', {}],
    ["GET /agents/:id", '/agents/:"__proto__"', {}],
    ["GET /agents/:id", '/agents/:"constructor"', {}],
  ])("of %s, by %s with %j, are empty where the framework gave none", (key, pattern, params) => {
    const name = key.split(":")[1] ?? "";
    expect(parameter(key, pattern, name, { params })).toBe("");
  });

  it("are empty where the rule cuts a text of the route within a character: that is no id", () => {
    const key = 'GET /:"id"9';
    expect(match(tableFor(key), "/%C3%A9")?.compiled.rule.key).toBe(key);
    expect(parameter(key, "/%C3%A9", "id", { params: {} })).toBe("");
    expect(parameter(key, "/caf9", "id", { params: {} })).toBe("caf");
  });

  it("are empty for a name that the rule does not have", () => {
    expect(parameter("GET /agents/:id", "/agents/:x", "x", { params: { x: "web" } })).toBe("");
    expect(parameter("GET /agents/:id", "/agents/:x", "toString", { params: { x: "web" } })).toBe("");
  });

  it.each([
    [{ id: "web" }, "/agents/web", "web"],
    [{ id: "web" }, "/AGENTS/web/", "web"],
    [{}, "/agents", ""],
    [{}, "/agents/", ""],
    [{ id: undefined }, "/agents", ""],
    [{ id: "" }, "/agents/", ""],
    // The path and the parameters tell of different alternatives: no id is not some id.
    [{ id: "web" }, "/agents", ""],
    [{}, "/agents/web", ""],
  ])(
    "of a route with an optional group are those that the request has: %j of %s",
    (params, target, expected) => {
      expect(parameter("GET /agents{/:agent_id}", "/agents{/:id}", "agent_id", { params, target })).toBe(
        expected,
      );
    },
  );

  it.each([
    ["/x", ""],
    ["/x/", ""],
    ["/x/web", "web"],
  ])("of a route with an optional text are those of the alternative that ran: %s", (target, expected) => {
    expect(parameter("GET /x{/:id}", "/x{/web}", "id", { params: {}, target })).toBe(expected);
  });

  it("of a route of several alternatives are read by the alternative that ran", () => {
    const key = "GET /a{/:b}{/x/:c}";
    const pattern = "/a{/:one}{/x/:two}";
    const names = (params: Record<string, string>, target: string) => {
      const found = match(tableFor(key), pattern, { params, target });
      return [found?.parameter("b"), found?.parameter("c")];
    };
    expect(names({ one: "1", two: "2" }, "/a/1/x/2")).toEqual(["1", "2"]);
    expect(names({ one: "1" }, "/a/1")).toEqual(["1", ""]);
    expect(names({ two: "2" }, "/a/x/2")).toEqual(["", "2"]);
    expect(names({}, "/a")).toEqual(["", ""]);
  });

  it.each([
    ["GET /agents/:id", "/agents/:x", "/agents/web", "web"],
    ["GET /agents/:id", "/agents/:x", "/agents/Web/", "Web"],
    // Compared as it is spelled: no id is not some id.
    ["GET /agents/:id", "/agents/:x", "/AGENTS/Web", ""],
    ["GET /agents/:id", "/agents/:x", "/agents/web%3Aadmin", "web:admin"],
    ["GET /agents/:id", "/agents/:x", "/agents/", ""],
    ["GET /agents/:id", "/agents/:x", "/elsewhere", ""],
    ["GET /agents/:id", "/agents/:x.json", "/agents/A.json", "A.json"],
    ["GET /files/*id", "/files/*rest", "/files/a/b%20c", "a/b c"],
    ["GET /agents{/:id}", "/agents{/:x}", "/agents", ""],
    ["GET /agents{/:id}", "/agents{/:x}", "/agents/web", "web"],
  ])(
    "of %s, by %s, are read from the path %s where the framework tells none",
    (key, pattern, target, expected) => {
      expect(parameter(key, pattern, "id", { target })).toBe(expected);
    },
  );

  it("that the framework tells decide, not those of the path", () => {
    const request = { params: { x: "web" }, target: "/agents/other" };
    expect(parameter("GET /agents/:id", "/agents/:x", "id", request)).toBe("web");
    expect(parameter("GET /agents/:id", "/agents/:x", "id", { ...request, params: {} })).toBe("");
  });
});
