import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collectReadings, findPathRule, findRouteRule } from "../../../src/core/policy/find-rules.ts";
import { readPath } from "../../../src/core/request.ts";
import {
  type Kinds,
  kinds,
  kindsTable,
  ruleKinds,
  samplePaths,
  sourceOf,
  textOf,
} from "../../support/patterns.ts";
import { compiledOf, getTable, pathOf, PROPERTY, segmentsIn, tableIssues } from "../../support/policy.ts";
import { type Entry, isMatch, keyOfEntry, LOOSEST, narrowestEntry, STRICT } from "../../support/reference.ts";

const treeOf = (...keys: readonly string[]) =>
  compiledOf(Object.fromEntries(keys.map((key) => [key, []]))).tree;

/** The key of the narrowest rule of a path, and whether the path is exact. */
function pathRuleOf(keys: readonly string[], method: string, target: string) {
  const found = findPathRule(treeOf(...keys), method, pathOf(target));
  return found.leaf && [found.leaf.compiled.rule.key, found.isExact ? "exact" : "inexact"];
}

function readingsOf(keys: readonly string[], method: string, target: string) {
  const { leaves, isMapped } = collectReadings(treeOf(...keys), method, pathOf(target));
  return { keys: [...leaves].map(({ compiled }) => compiled.rule.key), isMapped };
}

const routeRuleOf = (keys: readonly string[], method: string, route: string) =>
  findRouteRule(treeOf(...keys), method, segmentsIn(route))?.compiled.rule.key;

describe("findPathRule", () => {
  it.each([
    [["GET /:id", "GET /:id.json"], "/a.json", "GET /:id.json"],
    [["GET /:a/b", "GET /a/:b"], "/a/b", "GET /a/:b"],
    [["GET /*path", "GET /:a/*rest"], "/a/raw", "GET /:a/*rest"],
    [["GET /:a.x/:b", "GET /:a/*rest"], "/a.x/b/c", "GET /:a/*rest"],
    // The narrower start has no rule for the rest of the path.
    [["GET /agents/me/x", "GET /agents/:id/y"], "/agents/me/y", "GET /agents/:id/y"],
  ])("finds the narrowest of %j for %s: %s", (keys, target, key) => {
    for (const order of [keys, keys.toReversed()])
      expect(pathRuleOf(order, "GET", target)).toEqual([key, "exact"]);
  });

  it.each([
    [["GET /:name.gz", "GET /:name.tar.gz"], "/x.tar.gz", "GET /:name.tar.gz"],
    [["GET /:name.gz", "GET /:name.tar.gz"], "/.tar.gz", "GET /:name.gz"],
    [["GET /:name.gz", "GET /:name.tar.gz", "GET /:name"], "/.gz", "GET /:name"],
    [['GET /:"a"0a', "GET /:b"], "/x%20a", 'GET /:"a"0a'],
  ])("finds the longest text behind a parameter of %j for %s: %s", (keys, target, key) => {
    for (const order of [keys, keys.toReversed()])
      expect(pathRuleOf(order, "GET", target)).toEqual([key, "exact"]);
  });

  it.each([
    ["GET", "GET /a"],
    ["HEAD", "GET /a"],
    ["POST", "* /a"],
    ["REPORT", "* /a"],
    ["get", "* /a"],
  ])("prefers at one path the exact method to `*`, and uses GET for HEAD: %s", (method, key) => {
    expect(pathRuleOf(["* /a", "GET /a"], method, "/a")).toEqual([key, "exact"]);
  });

  it("prefers a rule of HEAD to that of GET at one path", () => {
    expect(pathRuleOf(["GET /a", "HEAD /a"], "HEAD", "/a")?.[0]).toBe("HEAD /a");
    expect(pathRuleOf(["GET /a", "HEAD /*path"], "HEAD", "/a")?.[0]).toBe("GET /a");
    expect(pathRuleOf(["HEAD /a"], "GET", "/a")).toBeUndefined();
  });

  it.each([
    ["GET /agents/:id", "/agents/W%65B", "exact"],
    ["GET /caf%C3%A9", "/caf%C3%A9", "exact"],
    ["GET /a/", "/a/", "exact"],
    ["GET /a{/}", "/a/", "exact"],
    ["GET /agents/:id", "/Agents/web", "inexact"],
    ["GET /agents/:id", "/agents/web/", "inexact"],
    ["GET /files/*path", "/files/a/", "inexact"],
    ["GET /a/", "/a", "inexact"],
    ["GET /caf%C3%A9", "/caf%c3%a9", "inexact"],
    ["GET /:id.json", "/a.JSON", "inexact"],
    ["GET /:id.json", "/a%2ejson", "inexact"],
  ])("finds %s for %s, which is %s", (key, target, exactness) => {
    expect(pathRuleOf([key], "GET", target)).toEqual([key, exactness]);
  });

  it.each([
    ["GET /agents/:id", "/agents/"],
    ["GET /files/*path", "/files/"],
    ["GET /a/*path", "/a"],
    ["POST /a", "/a"],
  ])("does not find %s for %s", (key, target) => {
    expect(pathRuleOf([key], "GET", target)).toBeUndefined();
  });

  const anyKinds = ["a", "b", "accent", "suffix", "parameter", "wildcard"] as const;
  const method = fc.constantFrom("GET", "GET", "HEAD", "POST", "*");
  const entry: fc.Arbitrary<Entry> = fc.record({ method, kinds: ruleKinds(anyKinds) });
  const table = fc.uniqueArray(entry, { minLength: 1, maxLength: 8, selector: keyOfEntry });
  const text = fc.constantFrom("a", "b", "c", "a-b", "c-b", "c-c", "%C3%A9");
  const path = fc.array(text, { maxLength: 5 }).map(textOf);

  it("agrees with path-to-regexp about every exact path, whatever the order of the table", () => {
    let mapped = 0;
    fc.assert(
      fc.property(table, path, fc.constantFrom("GET", "HEAD", "POST", "PUT"), (entries, target, asked) => {
        const expected = narrowestEntry(entries, asked, target, STRICT);
        if (expected) mapped += 1;
        for (const order of [entries, entries.toReversed()]) {
          const found = pathRuleOf(order.map(keyOfEntry), asked, target);
          expect(found).toEqual(expected && [keyOfEntry(expected), "exact"]);
        }
      }),
      { ...PROPERTY, numRuns: 1_000 },
    );
    expect(mapped).toBeGreaterThan(150);
  });

  it("finds for every other spelling of a path the rule that the most lenient router would find", () => {
    const spelled = fc
      .tuple(
        fc.array(fc.constantFrom("a", "A", "%61", "%41", "b", "%c3%89", "A-B"), { maxLength: 4 }),
        fc.boolean(),
      )
      .map(([all, hasSlash]) => textOf(hasSlash && all.length > 0 ? [...all, ""] : all));
    fc.assert(
      fc.property(table, spelled, (entries, target) => {
        const expected = narrowestEntry(entries, "GET", target, LOOSEST);
        const found = pathRuleOf(entries.map(keyOfEntry), "GET", target);
        expect(found?.[0]).toBe(expected && keyOfEntry(expected));
      }),
      { ...PROPERTY, numRuns: 1_000 },
    );
  });
});

describe("collectReadings", () => {
  it.each([
    // Another letter case is another parameter to some routers.
    [["GET /agents/me", "GET /agents/:id"], "/agents/ME", ["GET /agents/me", "GET /agents/:id"], true],
    [["GET /agents/me", "GET /agents/:id"], "/agents/m%65", ["GET /agents/me", "GET /agents/:id"], true],
    [["GET /agents/me", "GET /agents/:id"], "/agents/me/", ["GET /agents/me"], true],
    // A wildcard with exact text in front of it takes the slash in every router, which ends the search.
    [["GET /a/:b", "GET /a/*rest", "GET /*path"], "/a/b/", ["GET /a/:b", "GET /a/*rest"], true],
    [["GET /a/*rest", "GET /*path"], "/a/b/", ["GET /a/*rest"], true],
    [["GET /:id.json", "GET /:id"], "/a.JSON", ["GET /:id.json", "GET /:id"], true],
    [["GET /:id.json", "GET /:id"], "/a%2Ejson", ["GET /:id.json", "GET /:id"], true],
    [["GET /admin", "GET /*path"], "/ADMIN", ["GET /admin", "GET /*path"], true],
    [["GET /a/x", "GET /:a/x", "GET /*path"], "/A/x/", ["GET /a/x", "GET /:a/x", "GET /*path"], true],
    [["GET /agents"], "/%61gents", ["GET /agents"], false],
    [["GET /agents/:id"], "/AGENTS/x", ["GET /agents/:id"], true],
    [["GET /a/b", "GET /%61/:id"].slice(0, 1), "/%61/B", ["GET /a/b"], false],
  ])("collects from %j for the path %s the rules %j", (keys, target, expected, isMapped) => {
    const found = readingsOf(keys, "GET", target);
    expect([...found.keys].sort()).toEqual([...expected].sort());
    expect(found.isMapped).toBe(isMapped);
  });

  it("collects the rule for each path that has one for the method, whatever its method is", () => {
    const keys = ["HEAD /a", "GET /a", "* /:id"];
    expect(readingsOf(keys, "HEAD", "/A").keys).toEqual(["HEAD /a", "* /:id"]);
    expect(readingsOf(["GET /*path", "* /a"], "GET", "/A/").keys).toEqual(["* /a", "GET /*path"]);
  });

  it("continues with the next method of a path if the first one is written with another slash", () => {
    expect(readingsOf(["GET /a/", "* /a"], "GET", "/a").keys).toEqual(["GET /a/", "* /a"]);
  });

  it("matches at least one segment to a wildcard", () => {
    expect(readingsOf(["GET /x/*path", "GET /:a"], "GET", "/X").keys).toEqual(["GET /:a"]);
  });
});

describe("findRouteRule", () => {
  it.each([
    [["GET /agents/:id", "GET /*path"], "/agents/:agent", "GET /agents/:id"],
    [["GET /agents/:id", "GET /agents/me"], "/agents/:id", "GET /agents/:id"],
    [["GET /agents/:id.json", "GET /agents/:id"], "/agents/a.json", "GET /agents/:id.json"],
    [["GET /agents/:id.json", "GET /agents/:id"], "/agents/:name.json", "GET /agents/:id.json"],
    [["GET /agents/:id", "GET /agents/*rest"], "/agents/*all", "GET /agents/*rest"],
    [["GET /a/*path", "GET /*path"], "/a/*rest/raw", "GET /a/*path"],
    [["GET /a/*path", "GET /*path"], "/:a/*rest/:x", "GET /*path"],
    [["GET /:a.json", "GET /:a"], "/v:from-:to.json", "GET /:a.json"],
    [["GET /:a.json", "GET /:a"], "/v:from-:to", "GET /:a"],
    // Letter case, encoding and a trailing slash do not make another route.
    [["GET /agents/me", "GET /agents/:id"], "/Agents/M%65/", "GET /agents/me"],
    [["GET /%61gents"], "/agents", "GET /%61gents"],
  ])("finds from %j for the route %s the rule %s", (keys, route, key) => {
    for (const order of [keys, keys.toReversed()]) expect(routeRuleOf(order, "GET", route)).toBe(key);
  });

  it.each([
    [["GET /agents/me"], "/agents/:id"],
    [["GET /files/:id"], "/files/*path"],
    [["GET /*path"], "/"],
    [["POST /a"], "/a"],
    [["HEAD /a"], "/a"],
  ])("ignores a rule for a part of the route: %j for %s", (keys, route) => {
    expect(routeRuleOf(keys, "GET", route)).toBeUndefined();
  });

  it("prefers the narrower path, and at one path the exact method to `*`, with GET for HEAD", () => {
    const keys = ["* /a", "GET /a", "GET /*path"];
    expect(routeRuleOf(keys, "HEAD", "/a")).toBe("GET /a");
    expect(routeRuleOf(keys, "POST", "/a")).toBe("* /a");
    expect(routeRuleOf(["* /a", "GET /*path"], "GET", "/a")).toBe("* /a");
    expect(routeRuleOf(["GET /a", "HEAD /*path"], "HEAD", "/a")).toBe("GET /a");
    expect(routeRuleOf(keys, "*", "/a")).toBe("* /a");
  });

  it("finds only rules that match every sample path of the route", () => {
    const anyKinds = kinds(["a", "b", "suffix", "prefix", "pair", "parameter", "wildcard"]);
    let covered = 0;
    fc.assert(
      fc.property(kindsTable(), anyKinds, (patterns, route) => {
        fc.pre(tableIssues(getTable(patterns.map(sourceOf))).length === 0);
        const key = routeRuleOf(
          patterns.map((one) => `GET ${sourceOf(one)}`),
          "GET",
          sourceOf(route),
        );
        const rule = patterns.find((one) => `GET ${sourceOf(one)}` === key);
        if (!rule) return;
        covered += 1;
        for (const path of samplePaths(route)) {
          expect(isMatch(rule, path, STRICT), `${path} of ${sourceOf(route)}`).toBe(true);
        }
      }),
      { ...PROPERTY, numRuns: 1_000 },
    );
    expect(covered).toBeGreaterThan(100);
  });

  it("finds the rule for the path for a route without parameters", () => {
    const fixed: fc.Arbitrary<Kinds> = fc.array(fc.constantFrom("a", "b"), { maxLength: 4 });
    fc.assert(
      fc.property(kindsTable(), fixed, (patterns, route) => {
        const keys = patterns.map((one) => `GET ${sourceOf(one)}`);
        const byPath = findPathRule(treeOf(...keys), "GET", readPath(sourceOf(route)) ?? pathOf("/"));
        expect(routeRuleOf(keys, "GET", sourceOf(route))).toBe(byPath.leaf?.compiled.rule.key);
      }),
      { ...PROPERTY, numRuns: 1_000 },
    );
  });
});
