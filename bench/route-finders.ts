/** scopegate and other routers. Each finder reports whether a path has a route. */
import findMyWay from "find-my-way";
import { match } from "path-to-regexp";
import { addRoute, createRouter, findRoute } from "rou3";
import type * as compileRules from "../src/core/policy/compile-rules.ts";
import type * as table from "../src/core/policy/table.ts";
import { importInternal } from "./built.ts";

export interface Finder {
  readonly name: string;
  readonly has: (path: string) => boolean;
}

const { compileRules: compile } = await importInternal<typeof compileRules>("core/policy/compile-rules.ts");
const { Table } = await importInternal<typeof table>("core/policy/table.ts");

const fail = () => {
  throw new Error("The benchmark has an invalid pattern.");
};

/** Does what `server.check` does: reads the target, refuses it where routers disagree, and finds its rules. */
export function createOurs(patterns: readonly string[]): Finder {
  const mappings = Object.fromEntries(patterns.map((pattern) => [`GET ${pattern}`, []]));
  const table = new Table(compile({}, mappings, fail));
  return { name: "scopegate", has: (target) => table.forTarget("GET", target, false).kind === "rules" };
}

export function createFindMyWay(patterns: readonly string[]): Finder {
  const router = findMyWay();
  for (const pattern of patterns) router.on("GET", pattern, () => undefined);
  return { name: "find-my-way", has: (path) => router.find("GET", path) !== null };
}

export function createRou3(patterns: readonly string[]): Finder {
  const router = createRouter<string>();
  for (const pattern of patterns) addRoute(router, "GET", pattern, pattern);
  return { name: "rou3", has: (path) => findRoute(router, "GET", path) !== undefined };
}

/** Tries one pattern after another, as the routers of Express and Koa do. */
export function createPathToRegexp(patterns: readonly string[]): Finder {
  const matchers = patterns.map((pattern) => match(pattern));
  return { name: "path-to-regexp", has: (path) => matchers.some((matcher) => matcher(path) !== false) };
}
