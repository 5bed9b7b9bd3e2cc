/** Hono's paths as patterns of the table: each matches at least the paths that Hono's routers match. */
import { type Context, Hono } from "hono";
import { LinearRouter } from "hono/router/linear-router";
import { PatternRouter } from "hono/router/pattern-router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";
import { describe, expect, it } from "vitest";
import { toPattern } from "../../src/adapters/hono/pattern.ts";
import { compareWithRoute, parseRoutePattern } from "../../src/core/policy/route-comparison.ts";
import { readPath } from "../../src/core/request.ts";

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

/** The paths that a router serves. */
async function servedBy(Router: new () => LinearRouter<never>, route: string): Promise<readonly string[]> {
  const app = new Hono({ router: new Router() });
  app.get(route, (context: Context) => context.text("served"));
  const served = await Promise.all(
    PATHS.map(async (path) => {
      try {
        return (await app.request(`http://127.0.0.1${path}`)).status === 200;
      } catch {
        // LinearRouter and RegExpRouter do not support every route.
        return false;
      }
    }),
  );
  return PATHS.filter((_, index) => served[index]);
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
  it.each(READABLE)("matches with its pattern every path of %s that a router serves", async (route) => {
    const served = (await servedBy(Router as never, route)).filter((path) => readPath(path) !== undefined);
    expect(served.filter((path) => !matches(toPattern(route), path))).toEqual([]);
  });
});

it("tests only routes that some router serves", async () => {
  for (const route of READABLE) {
    const served = await Promise.all([TrieRouter, PatternRouter].map((one) => servedBy(one as never, route)));
    expect(served.flat(), route).not.toEqual([]);
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
