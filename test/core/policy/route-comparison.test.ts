import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ComparablePath,
  comparableRoute,
  parseRoutePattern,
} from "../../../src/core/policy/route-comparison.ts";
import type { Path } from "../../../src/core/request.ts";
import { type Kinds, kinds, samplePaths, sourceOf, textOf } from "../../support/patterns.ts";
import { compareWithRoute, pathOf, PROPERTY, segmentsIn } from "../../support/policy.ts";
import { isMatch, isMatchOrEmpty, LOOSEST, STRICT } from "../../support/reference.ts";

describe("compareWithRoute", () => {
  it("agrees with path-to-regexp about exact paths and about the most lenient router", () => {
    const route = kinds(["a", "A", "b", "accent", "suffix", "pair", "parameter", "wildcard"], 3);
    const text = fc.constantFrom("a", "A", "%61", "b", "z", "a-b", "A-B", "%C3%A9", "%c3%89");
    const path = fc
      .tuple(fc.array(text, { maxLength: 4 }), fc.boolean())
      .map(([all, hasSlash]) => textOf(hasSlash && all.length > 0 ? [...all, ""] : all));
    const cases = fc.oneof(
      fc.tuple(route, path),
      route.chain((one) => fc.tuple(fc.constant(one), fc.constantFrom(...samplePaths(one)))),
    );
    const seen = { exact: 0, loose: 0, none: 0 };
    fc.assert(
      fc.property(cases, ([one, target]: [Kinds, string]) => {
        const comparison = compareWithRoute(pathOf(target), segmentsIn(sourceOf(one)));
        seen[comparison ?? "none"] += 1;
        const isExact = isMatch(one, target, STRICT) && (target === "/" || !target.endsWith("/"));
        expect(comparison === "exact").toBe(isExact);
        expect(comparison !== undefined).toBe(
          isMatchOrEmpty(one, target, LOOSEST) || isEmptyMatch(one, target),
        );
      }),
      { ...PROPERTY, numRuns: 2_000 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(30);
  });

  const isEmptyMatch = (one: Kinds, target: string) =>
    target.endsWith("/") && isMatchOrEmpty(one, target, { ...LOOSEST, ignoresSlash: false });
});

describe("readFor", () => {
  const readFor = (route: string, path: Path) =>
    new ComparablePath(path).readFor(comparableRoute(segmentsIn(route)));

  it("returns the path itself, or the path with an empty last segment if only that fits", () => {
    const path = pathOf("/agents/");
    expect(readFor("/agents", path)).toBe(path);
    expect(readFor("/agents/:id", path)).toEqual({ ...path, end: 8 });
    expect(readFor("/*path", pathOf("/"))).toEqual({ text: "/", end: 1, isPlain: true });
    expect(readFor("/agents/:id", pathOf("/agents"))).toBeUndefined();
  });
});

describe("parseRoutePattern", () => {
  it.each([
    ["/agents/:id", "/agents/:id"],
    ["/agents/:id(\\d+)", "/agents/:id"],
    ["/agents/:id([a-z]{2}|x)", "/agents/:id"],
    ["/agents/:id?", "/agents{/:id}"],
    ["/agents/:id*", "/agents{/*id}"],
    ["/agents/:id([a-z]+)*", "/agents{/*id}"],
    ["/agents/:id+", "/agents/*id"],
    ["/:id*", "/{*id}"],
    ["/agents/:id/runs/:id?", "/agents/:id/runs{/:id}"],
    ["/agents/*", "/agents/{*path}"],
    ["/agents/(.*)", "/agents/{*path}"],
    ["*", "/{*path}"],
    ["*splat", "/{*splat}"],
    ["{*splat}", "/{*splat}"],
    ["{/*splat}", "/{*splat}"],
    ["{/:id}", "/{:id}"],
    ["/:id?", "/{:id}"],
  ])("parses %s as %s", (source, current) => {
    expect(parseRoutePattern(source)?.alternatives).toEqual(parseRoutePattern(current)?.alternatives);
  });

  it.each([
    "/agents/:id(.*)",
    "/agents/:id([^x])",
    "/agents/:id(*)",
    "/agents/:id(a*)",
    "/a(b)",
    "RegExp /x/",
    "",
    "agents",
    "/a//b",
    "/a;b",
  ])("returns nothing for %s", (source) => {
    expect(parseRoutePattern(source)).toBeUndefined();
  });
});
