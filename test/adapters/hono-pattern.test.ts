/** Hono's paths as patterns of the table: each matches at least the paths that Hono's routers match. */
import type { Router } from "hono/router";
import { LinearRouter } from "hono/router/linear-router";
import { PatternRouter } from "hono/router/pattern-router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";
import { getPath } from "hono/utils/url";
import { describe, expect, it } from "vitest";
import { toPattern } from "../../src/adapters/hono/pattern.ts";
import { parseRoutePattern } from "../../src/core/policy/route-comparison.ts";
import { readPath } from "../../src/core/request.ts";
import { compareWithRoute } from "../support/policy.ts";

const ROUTERS = { LinearRouter, PatternRouter, RegExpRouter, TrieRouter };

const SEGMENTS = ["", "a", "b", "web", "7", "a.png", "x-y", "caf%C3%A9", "a%20b", "%61", "a:b", "100%25"];
const PATHS = SEGMENTS.flatMap((first) => [
  `/${first}`,
  `/a/${first}/c`,
  ...SEGMENTS.flatMap((second) => [
    `/${first}/${second}`,
    `/a/${first}/${second}`,
    `/${first}/a/${second}/c`,
  ]),
]);

/** The paths as Hono's routers receive them. */
const ROUTED = PATHS.map((path) => getPath(new Request(`http://127.0.0.1${path}`)));

/** The paths that a router serves. */
function servedBy(Router: new () => Router<string>, route: string): readonly string[] {
  const router = new Router();
  router.add("GET", route, "served");
  return PATHS.filter((_, index) => {
    try {
      return router.match("GET", ROUTED[index] ?? "")[0].length > 0;
    } catch {
      // LinearRouter and RegExpRouter do not support every route.
      return false;
    }
  });
}

const matches = (pattern: string, text: string): boolean => {
  const path = readPath(text);
  const alternatives = parseRoutePattern(pattern)?.alternatives ?? [];
  return (
    path !== undefined && alternatives.some(({ segments }) => compareWithRoute(path, segments) !== undefined)
  );
};

const READABLE = [
  "/",
  "/*",
  "/a",
  "/a/",
  "/a/*",
  "/a/*/c",
  "/a/*/*",
  "/:x",
  "/:x?",
  "/a/:x",
  "/a/:x?",
  "/a/:x/*",
  "/a/:x?/:y?",
  "/:x?/a/:y?",
  "/a/:x/c",
  "/a/:x-y",
  "/a/:x.png",
  "/a/:x{[0-9]+}",
  "/a/:x{[0-9]+}?",
  "/a/:x{[a-z]{1,3}}/c",
  "/:x{\\d+}/*",
  "/café",
  "/a b/:x",
  "/a.png",
];

describe.each(Object.entries(ROUTERS))("%s", (_, Router) => {
  it.each(READABLE)("matches with its pattern every path of %s that a router serves", (route) => {
    const served = servedBy(Router, route).filter((path) => readPath(path) !== undefined);
    expect(served.filter((path) => !matches(toPattern(route), path))).toEqual([]);
  });
});

it("tests only routes that some router serves", () => {
  for (const route of READABLE) {
    const served = [TrieRouter, PatternRouter].flatMap((Router) => servedBy(Router, route));
    expect(served, route).not.toEqual([]);
  }
});

describe("a path that no pattern can express", () => {
  it.each([
    "/a*",
    "/a*/b",
    "/a/v:x",
    "/a/:x{.+}",
    "/a/:x{.+\\.png}",
    "/a/:x{[^/]+}",
    "/a/:x-y{[0-9]+}",
    "/a/:x{[0-9]+}b",
    "/a/:x{a/b}",
    "/a/:x{",
    "a",
  ])("returns no pattern that a rule could cover: %s", (route) => {
    expect(parseRoutePattern(toPattern(route))).toBeUndefined();
  });
});
