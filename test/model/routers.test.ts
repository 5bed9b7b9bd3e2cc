/** The models of routers against the routers of the frameworks. */
import Router from "@koa/router";
import express from "express";
import express4 from "express4";
import FindMyWay from "find-my-way";
import { Hono } from "hono";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { describe, expect, it } from "vitest";
import { matchedRoute, type RouterModel, STRICTEST } from "./routers.ts";
import { pathsOf, UNIVERSES } from "./universe.ts";

/** Registers routes, and returns which of them runs for a path. */
type CreateRouter = (
  routes: readonly string[],
) => (path: string) => string | undefined | Promise<string | undefined>;

interface RealRouter {
  readonly name: string;
  readonly model: RouterModel;
  readonly create: CreateRouter;
  /** Whether it has routes of this pattern, or routes that stand for it. */
  readonly hasPattern: (pattern: string) => boolean;
  /** Whether it matches fewer paths to this pattern than the model, which is safe. */
  readonly matchesLess: (pattern: string) => boolean;
}

const BOTH = [false, true];
const hasNoText = (pattern: string): boolean => !/-:|%/.test(pattern);
/** A slash at the end of an alternative. */
const endsWithSlash = (pattern: string): boolean => /.\/(?:$|\{)/.test(pattern);
/** Only a wildcard at the end. */
const endsInWildcard = (pattern: string): boolean => !pattern.includes("*w/");

/** Runs a router of Express with a request that has only what it reads. */
function runExpress(router: { handle: unknown }, url: string): string | undefined {
  let ran: string | undefined;
  const request = { method: "GET", url, baseUrl: "", ran: (route: string) => (ran ??= route) };
  (router.handle as (...inputs: unknown[]) => void)(request, {}, () => undefined);
  return ran;
}

const recordRoute =
  (route: string) =>
  (request: unknown): void =>
    void (request as { ran: (route: string) => string }).ran(route);

const expressRouters = BOTH.flatMap((caseSensitive) =>
  BOTH.flatMap((strict): readonly RealRouter[] => {
    const settings = `${caseSensitive ? "case-sensitive" : "default case"}, ${strict ? "strict" : "default slash"}`;
    const model = {
      ...STRICTEST,
      ignoresCase: !caseSensitive,
      ignoresSlash: !strict,
      order: "first",
    } as const;
    const createWith =
      (framework: typeof express): CreateRouter =>
      (routes) => {
        const router = framework.Router({ caseSensitive, strict });
        for (const route of routes) router.get(route, recordRoute(route));
        return (path) => runExpress(router as unknown as { handle: unknown }, path);
      };
    return [
      {
        name: `Express 5, ${settings}`,
        model,
        create: createWith(express),
        hasPattern: () => true,
        // The slash before a group is not optional.
        matchesLess: (pattern) => !strict && /.\/\{/.test(pattern),
      },
      {
        name: `Express 4, ${settings}`,
        model,
        create: createWith(express4 as unknown as typeof express),
        // Its patterns have another syntax.
        hasPattern: (pattern) => !/[*{]/.test(pattern),
        matchesLess: () => false,
      },
    ];
  }),
);

const koaRouters = BOTH.flatMap((sensitive) =>
  BOTH.map((strict): RealRouter => ({
    name: `@koa/router, ${sensitive ? "sensitive" : "default case"}, ${strict ? "strict" : "default slash"}`,
    model: { ...STRICTEST, ignoresCase: !sensitive, ignoresSlash: !strict, order: "first" },
    create: (routes) => {
      const router = new Router({ sensitive, strict });
      for (const route of routes) router.get(route, () => undefined);
      return (path) => router.match(path, "GET").pathAndMethod[0]?.path as string | undefined;
    },
    hasPattern: () => true,
    // The slash at the end of a path is optional, but not that of a route.
    matchesLess: (pattern) => !strict && endsWithSlash(pattern),
  })),
);

const fastifyRouters = BOTH.flatMap((caseSensitive) =>
  BOTH.flatMap((ignoreTrailingSlash) =>
    BOTH.map((ignoreDuplicateSlashes): RealRouter => ({
      name: `find-my-way, ${JSON.stringify({ caseSensitive, ignoreTrailingSlash, ignoreDuplicateSlashes })}`,
      model: {
        ignoresCase: !caseSensitive,
        ignoresSlash: ignoreTrailingSlash,
        decodes: true,
        matchesEmpty: "parameters and wildcards",
        mergesSlashes: ignoreDuplicateSlashes,
        order: "narrowest",
      },
      create: (routes) => {
        const router = FindMyWay({ caseSensitive, ignoreTrailingSlash, ignoreDuplicateSlashes });
        for (const route of routes)
          for (const written of fastifyPatterns(route)) router.on("GET", written, () => undefined, route);
        return (path) => router.find("GET", path)?.store as string | undefined;
      },
      hasPattern: endsInWildcard,
      // It decodes paths, but not routes. If it removes the slash at the end, no value is empty.
      matchesLess: (pattern) => pattern.includes("%") || ignoreTrailingSlash,
    })),
  ),
);

/** Fastify has no optional groups. Its wildcard also matches nothing after its slash. */
const fastifyPatterns = (route: string): readonly string[] =>
  route
    .replace(/^([^{]*)\{([^}]*)\}$/, (_, before: string, group: string) => `${before}${group} ${before}`)
    .split(" ")
    .map((pattern) => pattern.replace(/\*w/, "*"));

const honoRouters = BOTH.flatMap((strict) =>
  [
    {
      name: "SmartRouter",
      create: () => new SmartRouter<never>({ routers: [new RegExpRouter(), new TrieRouter()] }),
    },
    { name: "TrieRouter", create: () => new TrieRouter<never>() },
  ].map((router): RealRouter => ({
    name: `Hono with ${router.name}, ${strict ? "strict" : "not strict"}`,
    model: {
      ...STRICTEST,
      ignoresSlash: !strict,
      decodes: true,
      matchesEmpty: "wildcards",
      order: "first",
    },
    create: (routes) => {
      const app = new Hono({ strict, router: router.create() });
      for (const route of routes)
        app.get(route.replace(/\{\/:x\}/, "/:x?").replace(/\/?\{\/?\*w\}/, "/*"), (context) =>
          context.text(route),
        );
      return async (path) => {
        const response = await app.request(path);
        return response.status === 200 ? response.text() : undefined;
      };
    },
    // A wildcard of Hono also matches the path before its slash, as an optional one does. If it is not strict, it
    // removes the slash at the end of a path, and never runs a route that has one.
    hasPattern: (pattern) =>
      hasNoText(pattern) && !/\{:x\}|\{\/b\}|\/\*w|\w\/\{/.test(pattern) && (strict || !/.\/$/.test(pattern)),
    matchesLess: () => false,
  })),
);

const [, pairs] = UNIVERSES;
// Text after a parameter is a part of its name in some routers.
const PATTERNS = (pairs?.patterns ?? []).filter((pattern) => !pattern.includes(":x-"));
// find-my-way also matches no text to a parameter beside text. The library refuses it: it does not fit the route.
const PATHS = (pairs?.paths ?? []).filter((path) => !/\/-|-(?:\/|$)/.test(path));
const PATHS_WITHOUT_SLASH = pathsOf(["a", "b", "a-b"], 2).filter((path) => !path.endsWith("/"));
const DUPLICATE_SLASHES = ["//a", "/a//b", "/a//", "//"];

describe.each([...expressRouters, ...koaRouters, ...fastifyRouters, ...honoRouters])(
  "the model of $name",
  ({ model, create, hasPattern, matchesLess }) => {
    const patterns = PATTERNS.filter(hasPattern);

    it("matches each path that the router matches to a route, and no others", async () => {
      const differences: string[] = [];
      for (const pattern of patterns) {
        const router = create([pattern]);
        for (const path of model.mergesSlashes ? [...PATHS, ...DUPLICATE_SLASHES] : PATHS) {
          const actual = (await router(path)) !== undefined;
          const expected = matchedRoute([pattern], path, model) !== undefined;
          if (actual === expected || (!actual && matchesLess(pattern))) continue;
          differences.push(`${pattern} for ${path}: ${actual}`);
        }
      }
      expect(differences).toEqual([]);
    });

    it("matches the same one of two routes", async () => {
      const differences: string[] = [];
      const precise = patterns.filter((pattern) => !matchesLess(pattern) && !/%|A/.test(pattern));
      for (const first of precise)
        for (const second of precise) {
          const router = first === second ? undefined : createIfDistinct(create, [first, second]);
          if (!router) continue;
          for (const path of PATHS_WITHOUT_SLASH) {
            const actual = await router(path);
            const expected = matchedRoute([first, second], path, model);
            if (actual !== expected)
              differences.push(`${first} and ${second} for ${path}: ${actual}, not ${expected}`);
          }
        }
      expect(differences).toEqual([]);
    });
  },
);

/** Returns `undefined` for two routes that are the same to a router: Fastify throws. */
function createIfDistinct(
  create: CreateRouter,
  routes: readonly string[],
): ReturnType<CreateRouter> | undefined {
  try {
    return create(routes);
  } catch {
    return undefined;
  }
}
