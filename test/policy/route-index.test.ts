import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RouteIndex } from "../../src/policy/route-index.ts";
import { type ScopeMappings } from "../../src/policy/requirement.ts";
import { readPath } from "../../src/request.ts";
import {
  getTable,
  type Kind,
  kinds,
  kindsTable,
  narrowestByHand,
  paramsByPathToRegexp,
  pathSegments,
  PROPERTY,
  rulesOf,
  sourceOf,
  textOf,
} from "../support/policy.ts";

const indexOf = (table: ScopeMappings) => new RouteIndex(rulesOf(table));

const tableFor = (...keys: readonly string[]): ScopeMappings =>
  Object.fromEntries(keys.map((key) => [key, "public"]));

function textOfTarget(target: string): string {
  const path = readPath(target);
  if (!path) throw new Error(`${target} is no readable target.`);
  return path.text;
}

const ruleOf = (index: RouteIndex, method: string, target: string): string =>
  index.find(method, textOfTarget(target))?.compiled.rule.key ?? "none";

const shuffled = <T>(items: readonly T[]) => fc.shuffledSubarray([...items], { minLength: items.length });

describe("the rule of a path", () => {
  const keys = [
    "* /*path",
    "GET /*path",
    "GET /:section",
    "GET /:section/:id",
    "GET /agents",
    "GET /agents/:id",
    "GET /agents/me",
    "GET /agents/:id.json",
    "GET /agents/:from-:to",
    "GET /agents/:id/runs/*rest",
    "GET /agents/*rest",
    "GET /agents/me/runs/:run",
    "GET /files/*path/raw",
    "GET /files/*path/:version/raw",
    "POST /agents",
    "HEAD /agents/me",
    "* /health",
    "GET /a{/:b}{/c}",
    "GET /",
  ];

  const cases: readonly (readonly [string, string, string])[] = [
    ["GET", "/", "GET /"],
    ["GET", "/agents", "GET /agents"],
    ["GET", "/teams", "GET /:section"],
    ["GET", "/teams/red", "GET /:section/:id"],
    ["GET", "/teams/red/x", "GET /*path"],
    // Static before mixed before parameter before wildcard.
    ["GET", "/agents/me", "GET /agents/me"],
    ["GET", "/agents/web.json", "GET /agents/:id.json"],
    ["GET", "/agents/ham-muc", "GET /agents/:from-:to"],
    ["GET", "/agents/ham-muc.json", "GET /agents/:id.json"],
    ["GET", "/agents/web", "GET /agents/:id"],
    ["GET", "/agents/web/x", "GET /agents/*rest"],
    ["GET", "/agents/web/runs/1", "GET /agents/:id/runs/*rest"],
    ["GET", "/agents/me/runs/1", "GET /agents/me/runs/:run"],
    // Where the narrower beginning leads nowhere, the next is taken.
    ["GET", "/agents/me/runs/1/2", "GET /agents/:id/runs/*rest"],
    ["GET", "/agents/me/runs", "GET /agents/*rest"],
    ["GET", "/agents/web.json/runs/1", "GET /agents/:id/runs/*rest"],
    // A wildcard takes one segment or more, also inside.
    ["GET", "/files/x/raw", "GET /files/*path/raw"],
    ["GET", "/files/x/1/raw", "GET /files/*path/:version/raw"],
    ["GET", "/files/raw", "GET /:section/:id"],
    ["GET", "/files/x/y", "GET /*path"],
    // Optional groups.
    ["GET", "/a", "GET /a{/:b}{/c}"],
    ["GET", "/a/x", "GET /a{/:b}{/c}"],
    ["GET", "/a/c", "GET /a{/:b}{/c}"],
    ["GET", "/a/x/c", "GET /a{/:b}{/c}"],
    ["GET", "/a/x/y", "GET /*path"],
    // The exact method before every method, however wide its pattern.
    ["GET", "/health", "GET /:section"],
    ["POST", "/health", "* /health"],
    ["POST", "/agents", "POST /agents"],
    ["POST", "/teams", "* /*path"],
    ["DELETE", "/agents/me", "* /*path"],
    // HEAD runs the handler of GET, unless it has a rule of its own.
    ["HEAD", "/agents", "GET /agents"],
    ["HEAD", "/agents/me", "HEAD /agents/me"],
    ["HEAD", "/agents/web", "GET /agents/:id"],
    ["HEAD", "/health", "GET /:section"],
    // OPTIONS is a method like every other.
    ["OPTIONS", "/agents", "* /*path"],
    // Methods are case-sensitive.
    ["get", "/agents", "* /*path"],
    ["Head", "/agents", "* /*path"],
    ["*", "/agents", "* /*path"],
  ];

  it.each(cases)("%s %s is that of %s", (method, target, expected) => {
    expect(ruleOf(indexOf(tableFor(...keys)), method, target)).toBe(expected);
  });

  it("does not depend on the order of writing", () => {
    fc.assert(
      fc.property(shuffled(keys), (order) => {
        const index = indexOf(tableFor(...order));
        for (const [method, target, expected] of cases) expect(ruleOf(index, method, target)).toBe(expected);
      }),
      { ...PROPERTY, numRuns: 50 },
    );
  });

  it.each([
    ["OPTIONS", "/agents"],
    ["HEAD", "/agents"],
    ["TRACE", "/agents"],
    ["get", "/agents"],
    ["", "/agents"],
    ["POST", "/AGENTS"],
    ["POST", "/agents/"],
    ["POST", "/agents/x"],
    ["POST", "/agent"],
    ["POST", "/agentss"],
    ["POST", "/"],
    ["POST", "/files"],
    ["POST", "/files/"],
    ["POST", "/runs/"],
    ["POST", "/%61gents"],
  ])("is none for %s %s where the table has none", (method, target) => {
    const table = tableFor("POST /agents", "POST /files/*path", "POST /runs/:id");
    expect(ruleOf(indexOf(table), method, target)).toBe("none");
  });

  it("of HEAD is never that of a method other than HEAD, GET and every method", () => {
    expect(ruleOf(indexOf(tableFor("POST /a", "OPTIONS /a")), "HEAD", "/a")).toBe("none");
    expect(ruleOf(indexOf(tableFor("* /a")), "HEAD", "/a")).toBe("* /a");
    expect(ruleOf(indexOf(tableFor("HEAD /a")), "GET", "/a")).toBe("none");
  });
});

describe("the parameters of a path", () => {
  const parametersOf = (key: string, target: string) => {
    const match = indexOf(tableFor(key)).find("GET", textOfTarget(target));
    const names = match ? [...match.compiled.pattern.parameters] : [];
    return Object.fromEntries(names.map((name) => [name, match?.parameter(name)]));
  };

  it.each([
    ["GET /agents/:id", "/agents/web", { id: "web" }],
    ["GET /:a/:b/:c", "/1/2/3", { a: "1", b: "2", c: "3" }],
    ["GET /:a-:b/:c", "/1-2/3", { a: "1", b: "2", c: "3" }],
    ["GET /*head/x/:tail", "/1/2/x/3", { head: "1/2", tail: "3" }],
    ["GET /*head/x/:tail", "/1/x/2/x/3", { head: "1/x/2", tail: "3" }],
    ["GET /a{/:b}", "/a", { b: "" }],
    ["GET /a{/:b}{/x/:c}", "/a/x/1", { b: "", c: "1" }],
    // Decoded, as the handler will see them.
    ["GET /agents/:id", "/agents/caf%C3%A9", { id: "café" }],
    ["GET /agents/:id", "/agents/web%3Aadmin", { id: "web:admin" }],
    ["GET /agents/:id", "/agents/%2A", { id: "*" }],
    ["GET /agents/:id", "/agents/100%25", { id: "100%" }],
    ["GET /agents/:id", "/agents/%2525", { id: "%25" }],
    ["GET /files/*path", "/files/a%20b/c", { path: "a b/c" }],
    ["GET /:id.json", "/%41.json", { id: "A" }],
  ])("by %s of %s are %j", (key, target, expected) => {
    expect(parametersOf(key, target)).toEqual(expected);
  });

  it("are empty where the text is no UTF-8, so that only a grant for every id covers them", () => {
    const match = indexOf(tableFor("GET /agents/:id")).find("GET", "/agents/%ff");
    expect(match?.parameter("id")).toBe("");
  });

  it("are empty for a name that the pattern does not have", () => {
    const match = indexOf(tableFor("GET /agents/:id")).find("GET", "/agents/web");
    for (const name of ["", "ID", "constructor", "__proto__", "0"])
      expect(match?.parameter(name), name).toBe("");
  });
});

describe("a path in another spelling", () => {
  const keys = ["GET /agents/me", "GET /agents/me/runs", "GET /files/raw/", "GET /caf%C3%A9", "GET /Teams"];

  it.each(["/AGENTS/me", "/agents/Me", "/agents/me/", "/files/raw", "/%61gents/me", "/caf%c3%a9", "/teams"])(
    "has no rule as %s: the index compares exactly",
    (target) => {
      expect(ruleOf(indexOf(tableFor(...keys)), "GET", target)).toBe("none");
    },
  );

  it("is compared as it is said to be, and its parameters are those that the client spelled", () => {
    const index = indexOf(tableFor("GET /agents/:id/files/*path", "GET /Agents/:id/files/x"));
    const path = textOfTarget("/AGENTS/W%65B/FILES/A/B");
    const replacements = new Map([
      [0, "agents"],
      [13, "files"],
    ]);
    const match = index.find("GET", path, replacements);
    expect(match?.compiled.rule.key).toBe("GET /agents/:id/files/*path");
    expect([match?.parameter("id"), match?.parameter("path")]).toEqual(["WeB", "A/B"]);
    expect(index.find("GET", path)).toBeUndefined();
  });
});

describe("whether every router would capture the same", () => {
  const isCertain = (key: string, target: string) =>
    indexOf(tableFor(key)).find("GET", textOfTarget(target))?.isCertain;

  it.each([
    ["GET /agents/:id", "/agents/a-b-c"],
    ["GET /agents/:id", "/agents/%41"],
    ["GET /*path/raw", "/a/raw/raw"],
    ["GET /:id.json", "/42.json"],
    ["GET /:id.json", "/4%322.json"],
    ["GET /:from-:to", "/ham-muc"],
    ["GET /x/:from-:to/*rest", "/x/ham-muc/a-b-c"],
  ])("is certain by %s of %s", (key, target) => {
    expect(isCertain(key, target)).toBe(true);
  });

  it.each([
    ["GET /:from-:to", "/a-b-c"],
    ["GET /x/:from-:to/*rest", "/x/a-b-c/d"],
    ["GET /:id.json", "/42.JSON"],
    ["GET /:id.json", "/42%2ejson"],
    ["GET /:id.json", "/42.json.json"],
  ])("is not by %s of %s, which could be cut or spelled in several ways", (key, target) => {
    expect(isCertain(key, target)).toBe(false);
  });
});

describe("RouteIndex", () => {
  const withSlashes = fc
    .tuple(kinds(), fc.boolean())
    .map(([pattern, hasSlash]): Kind[] => (hasSlash && pattern.length > 0 ? [...pattern, ""] : pattern));

  it("answers as matching every pattern and ordering them by hand does", () => {
    fc.assert(
      fc.property(kindsTable(withSlashes), pathSegments, (table, path) => {
        const narrowest = narrowestByHand(table, path);
        const found = indexOf(getTable(table.map(sourceOf))).find("GET", textOf(path));
        expect(found?.compiled.rule.pattern).toBe(narrowest && sourceOf(narrowest));
      }),
      { ...PROPERTY, numRuns: 2000 },
    );
  });

  it("reads the parameters that path-to-regexp reads", () => {
    fc.assert(
      fc.property(kinds(), pathSegments, (pattern, path) => {
        const expected = paramsByPathToRegexp(sourceOf(pattern), path);
        const found = indexOf(getTable([sourceOf(pattern)])).find("GET", textOf(path));
        expect(found !== undefined).toBe(expected !== undefined);
        for (const [name, value] of Object.entries(expected ?? {}))
          expect(found?.parameter(name)).toBe(value);
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
  });

  it("answers the same whatever the order of writing", () => {
    const tableInTwoOrders = kindsTable().chain((table) => fc.tuple(fc.constant(table), shuffled(table)));
    fc.assert(
      fc.property(tableInTwoOrders, pathSegments, ([table, other], path) => {
        const [one, two] = [table, other].map((order) =>
          indexOf(getTable(order.map(sourceOf))).find("GET", textOf(path)),
        );
        expect(two?.compiled.rule.key).toBe(one?.compiled.rule.key);
      }),
      PROPERTY,
    );
  });

  it("finds a rule that matches, whenever one does, for every method", () => {
    fc.assert(
      fc.property(kindsTable(), pathSegments, fc.constantFrom("GET", "HEAD"), (table, path, method) => {
        const found = indexOf(getTable(table.map(sourceOf))).find(method, textOf(path));
        const hasMatch = table.some((pattern) => paramsByPathToRegexp(sourceOf(pattern), path));
        expect(found !== undefined).toBe(hasMatch);
      }),
      PROPERTY,
    );
  });
});
