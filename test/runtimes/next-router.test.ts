/** The model of the router of Next.js (`test/model/next.ts`), compared with the router itself. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type NextApplication, type NextRewrite, resolve } from "../model/next.ts";
import { application, requestPath } from "../model/next-applications.ts";

const MODULES = fileURLToPath(new URL("node_modules", import.meta.url));
const load = createRequire(import.meta.url);
const next = (path: string): unknown => load(`${MODULES}/next/dist/${path}`);

/** The parts of Next.js that find a route. Their arguments are those of Next.js 16. */
interface Parts {
  readonly getSortedRoutes: (pages: readonly string[]) => readonly string[];
  readonly getRouteRegex: (page: string) => object;
  readonly getRouteMatcher: (regex: object) => (path: string) => object | false;
  readonly normalizeAppPath: (folder: string) => string;
  readonly buildCustomRoute: (type: string, rewrite: NextRewrite, basePath: string) => object;
  readonly getResolveRoutes: (...options: readonly unknown[]) => (request: object) => Promise<{
    readonly matchedOutput: { readonly itemPath: string } | null;
    readonly parsedUrl: { readonly pathname: string };
  }>;
}

const FILES = [
  ...["shared/lib/router/utils/sorted-routes.js", "shared/lib/router/utils/route-regex.js"],
  ...["shared/lib/router/utils/route-matcher.js", "shared/lib/router/utils/app-paths.js"],
  ...["server/lib/router-utils/filesystem.js", "server/lib/router-utils/resolve-routes.js"],
];
const loadParts = (): Parts => Object.assign({}, ...FILES.map(next)) as Parts;

const asPath = (text: string): string => (text === "" ? "/" : text);

/** Returns what Next.js runs: the page of the route, its parameters and the path after the rewrites. */
function createRouter(app: NextApplication): (path: string) => Promise<object | undefined> {
  const {
    getSortedRoutes,
    getRouteRegex,
    getRouteMatcher,
    normalizeAppPath,
    buildCustomRoute,
    getResolveRoutes,
  } = loadParts();
  const { basePath = "", beforeFiles = [], afterFiles = [], fallback = [] } = app;
  const pages = getSortedRoutes(app.folders.map(normalizeAppPath));
  const items = new Set([...pages, ...app.files]);
  const dynamicRoutes = pages
    .filter((page) => page.includes("["))
    .map((page) => ({ page, match: getRouteMatcher(getRouteRegex(page)) }));
  const withBase = (path: string): string => (path === "/" && basePath !== "" ? basePath : basePath + path);
  const build = (type: string, all: readonly NextRewrite[]) =>
    all.map(({ source, destination }) =>
      buildCustomRoute(type, { source: withBase(source), destination: withBase(destination) }, basePath),
    );
  const getItem = (path: string) => {
    if (path !== basePath && !path.startsWith(`${basePath}/`)) return Promise.resolve(null);
    const page = asPath(path.slice(basePath.length).replace(/\/$/, ""));
    return Promise.resolve(items.has(page) ? { type: "appFile", itemPath: page } : null);
  };
  const files = {
    headers: [],
    redirects: [],
    onMatchHeaders: [],
    rewrites: {
      beforeFiles: build("before_files_rewrite", beforeFiles),
      afterFiles: build("rewrite", afterFiles),
      fallback: build("rewrite", fallback),
    },
    buildId: "build",
    getItem,
    getDynamicRoutes: () => dynamicRoutes,
    getMiddlewareMatchers: () => undefined,
    handleLocale: (pathname: string) => ({ pathname }),
  };
  const config = { basePath, experimental: {}, useFileSystemPublicRoutes: true };
  const run = getResolveRoutes(files, config, () => "", { port: 80, hostname: "host.example" });
  return async (path) => {
    const req = { url: path, headers: {}, method: "GET", socket: {} };
    const { matchedOutput, parsedUrl } = await run({ req, res: {}, isUpgradeReq: true });
    if (!matchedOutput) return undefined;
    const { itemPath } = matchedOutput;
    const inside = asPath(parsedUrl.pathname.slice(basePath.length));
    const dynamic = dynamicRoutes.find(({ page }) => page === itemPath);
    return {
      folder: itemPath,
      params: { ...(dynamic ? dynamic.match(inside) : {}) },
      path: asPath(parsedUrl.pathname),
    };
  };
}

describe.skipIf(!existsSync(`${MODULES}/next`))("the model of the router of Next.js", () => {
  it("runs the same route, with the same parameters, for the same requests", async () => {
    const { normalizeAppPath } = loadParts();
    let matches = 0;
    const requests = fc.array(requestPath, { minLength: 10, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(application, requests, async (app, paths) => {
        const router = createRouter(app);
        for (const path of paths.map((sent) => (app.basePath ?? "") + sent)) {
          const actual = resolve(app, path);
          const expected = await router(path);
          expect(actual && { ...actual, folder: normalizeAppPath(actual.folder) }).toEqual(expected);
          if (expected) matches += 1;
        }
      }),
      { numRuns: 1_000 },
    );
    expect(matches).toBeGreaterThan(1_000);
  });
});
