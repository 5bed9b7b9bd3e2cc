/** Lists the routes of a Next.js application: the files of its folder `app`, and its rewrites. */
import { checkOptions } from "../../../core/options/check-options.ts";
import { anyValue } from "../../../core/options/option-checks.ts";
import type { ListedRoute, UnguardedPlace } from "../../../core/policy/listed-route.ts";
import { literalPattern, quoteName, unquote } from "../../../core/policy/pattern-text.ts";
import { compact } from "../../../core/runtime/compact.ts";
import { SERVES } from "../mounts.ts";
import {
  alternativesOf,
  atRoot,
  chain,
  createMatcher,
  type Matcher,
  type PathPair,
  readRewrite,
  toPattern,
} from "../next/paths.ts";
import { distinctBy } from "../distinct.ts";
import { addNote, addWrongRoute, FINAL_RSC, recordRewrite, type Rewrite } from "../next/rewrites.ts";
import { renderRoute } from "../report.ts";
import { findHandlers, importsFunction, readMatcher } from "../next/source.ts";

/** How a Next.js application is configured. */
export interface NextRoutesOptions {
  /** What `next.config` exports: an object or a function. Default: an empty configuration. */
  readonly config?: object;
}

interface NextRewrite {
  readonly source: string;
  readonly destination: string;
  readonly basePath?: false;
}

/** The options of `next.config` that change routes. */
interface NextConfig {
  readonly basePath?: string;
  readonly pageExtensions?: readonly string[];
  readonly rewrites?: () => Promise<
    readonly NextRewrite[] | Readonly<Record<string, readonly NextRewrite[]>>
  >;
  readonly redirects?: () => Promise<readonly object[]>;
  readonly i18n?: unknown;
  readonly experimental?: { readonly caseSensitiveRoutes?: boolean };
}

/** A file that Next.js serves. */
interface Served {
  readonly kind: "page" | "route" | "file" | "publicFile";
  /** The pattern of the paths that clients request. */
  readonly pattern: string;
  /** The pattern of its folder, which differs for an intercepting page. */
  readonly written: string;
}

const PROXY_MISSING = Object.freeze({
  message: "has no proxy.ts that calls protect of scopegate/fetch, so nothing guards its pages.",
  hint: "Write proxy.ts next to the folder app, as in the guide of Next.js.",
  isUncertain: true,
} as const);

const OUTSIDE_MATCHER = Object.freeze({
  message: "is outside the matcher of proxy.ts, so nothing checks it.",
  hint: "Let the matcher include its path. Below /_next, check the scopes in the page, and pass its pattern as guardedElsewhere.",
});

const READ_MATCHERS = "write paths such as `/admin/:path*`, or the form `/((?!api|_next/static).*)`";

/** A route that a file adds. */
interface FileRoute {
  readonly route: ListedRoute;
  /** Whether only the rule for the path of the client protects it. */
  readonly isTarget: boolean;
  /** For an intercepting page: a client can also request the path of its folder. */
  readonly alias?: WrittenRewrite | undefined;
}

/** Lists a folder `app`. Handlers without `withScopes`, and pages without `proxy.ts`, are unguarded. */
export async function listNext(folder: string, options: NextRoutesOptions): Promise<readonly ListedRoute[]> {
  checkOptions("routesOf", options, { config: anyValue });
  const { readdir, readFile } = await import("node:fs/promises");
  const config = await readConfig(options.config);
  const { basePath = "", pageExtensions = ["tsx", "ts", "jsx", "js"], i18n } = config;
  const siblings = await readdir(`${folder}/..`);
  const proxyFile = siblings.find((name) =>
    pageExtensions.some((extension) => name === `proxy.${extension}`),
  );
  const proxy = proxyFile === undefined ? "" : await readFile(`${folder}/../${proxyFile}`, "utf8");
  const matcher = createMatcher(readMatcher(proxy), basePath);
  const isGuarded = importsFunction(proxy, "protect") ? (matcher ?? (() => false)) : undefined;

  const fileRoutes: FileRoute[] = [];
  for (const path of (await readdir(folder, { recursive: true })).toSorted()) {
    const served = readServed(`/${path.replaceAll("\\", "/")}`, pageExtensions);
    if (!served) continue;
    if (served.kind !== "route") fileRoutes.push(listFile(served, basePath, isGuarded));
    else {
      const text = await readFile(`${folder}/${path}`, "utf8");
      fileRoutes.push(...listHandlers(text, atRoot(basePath + served.pattern)));
    }
  }

  for (const path of await findPublicFiles(folder)) {
    const pattern = literalPattern(encodeURI(path).replaceAll(/[?#;]/g, encodeURIComponent));
    fileRoutes.push(listFile({ kind: "publicFile", pattern, written: pattern }, basePath, isGuarded));
  }

  const isCaseSensitive = config.experimental?.caseSensitiveRoutes === true;
  const rewrites = (await readRewrites(config)).map((each) => toWrittenRewrite(each, isCaseSensitive));
  const aliases = fileRoutes.flatMap(({ alias }) => alias ?? []);
  const folders = aliases.map(({ source }) =>
    Object.freeze({ method: "*", pattern: source, serves: SERVES.folder }),
  );
  const routes = [...[...fileRoutes, ...rewrites].map(({ route }) => route), ...folders];
  const paths = fileRoutes.flatMap(({ route }) => alternativesOf(route.pattern));
  const application = { paths, targets: targetsOf(fileRoutes), isGuarded };
  const areAllRecorded = recordRewrites([...rewrites, ...aliases], application);
  const [first] = routes;
  const guarded = application.targets.filter(({ unguarded }) => !unguarded);
  if (first && !((await config.redirects?.()) ?? []).some(isForRsc))
    recordRewrite(first, { ...application, ...FINAL_RSC, targets: guarded });
  if (first && !matcher)
    addNote(first, `the matcher of proxy.ts, which counts as matching no path: ${READ_MATCHERS}`);
  if (first && !areAllRecorded) addNote(first, "all orders in which these rewrites follow each other");
  if (first && i18n !== undefined) addNote(first, "i18n, which adds locales to paths");
  if (first && siblings.includes("pages")) addNote(first, "the folder pages");
  return Object.freeze(routes);
}

/** Finds the files of `public`, which is next to the folder `app`, or to its parent `src`. */
async function findPublicFiles(folder: string): Promise<readonly string[]> {
  const { readdir, realpath } = await import("node:fs/promises");
  const parent = await realpath(`${folder}/..`);
  const paths: string[] = [];
  for (const each of /[\\/]src$/.test(parent) ? [parent, `${parent}/..`] : [parent]) {
    if (!(await readdir(each)).includes("public")) continue;
    const root = await realpath(`${each}/public`);
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => !entry.isDirectory());
    paths.push(...files.map(({ parentPath, name }) => `${parentPath.slice(root.length)}/${name}`));
  }
  return paths.map((path) => path.replaceAll("\\", "/")).toSorted();
}

/** Lists the handlers of a `route` file. */
function listHandlers(text: string, pattern: string): readonly FileRoute[] {
  return findHandlers(text).map((handler) => {
    const { method, isWrapped } = handler;
    const guard = isWrapped ? {} : { serves: SERVES.unwrapped, unguarded: unwrapped(method, pattern) };
    const route = Object.freeze({ method, pattern, ...guard });
    const hasRightRoute = isWrapped && isRouteOf(route, handler.route);
    if (isWrapped && !hasRightRoute) addWrongRoute(route, handler.route);
    return { route, isTarget: !isWrapped };
  });
}

function listFile(
  { kind, pattern: requested, written }: Served,
  basePath: string,
  isGuarded: Matcher | undefined,
): FileRoute {
  const pattern = atRoot(basePath + requested);
  const serves = kind === "page" || kind === "publicFile" ? SERVES[kind] : undefined;
  const unguarded = findUnguardedPlace(pattern, isGuarded);
  const route = Object.freeze({ method: "GET", pattern, ...compact({ serves, unguarded }) });
  if (written === requested) return { route, isTarget: true };
  const text = `the folder of the intercepting route \`${pattern}\``;
  const folder = { source: basePath + written, destination: pattern, isCaseSensitive: true };
  return { route, isTarget: true, alias: { route, text, ...folder } };
}

function findUnguardedPlace(pattern: string, isGuarded: Matcher | undefined): UnguardedPlace | undefined {
  if (!isGuarded) return PROXY_MISSING;
  return alternativesOf(pattern).every(isGuarded) ? undefined : OUTSIDE_MATCHER;
}

/** A pattern may be listed twice, for example by a page and by a file of another group. */
const targetsOf = (fileRoutes: readonly FileRoute[]): readonly ListedRoute[] => {
  const targets = fileRoutes.filter(({ isTarget }) => isTarget).map(({ route }) => route);
  return distinctBy(targets, renderRoute);
};

/** A rewrite, or another path by which clients reach a page. */
interface WrittenRewrite extends NextRewrite {
  /** The listed route that findings are about. */
  readonly route: ListedRoute;
  readonly text: string;
  /** Whether the source only matches in its letter case, as the path of a folder does. */
  readonly isCaseSensitive: boolean;
}

function toWrittenRewrite({ source, destination }: NextRewrite, isCaseSensitive: boolean): WrittenRewrite {
  const route = Object.freeze({ method: "*", pattern: toPattern(source), serves: SERVES.rewrite });
  const text = `the rewrite \`${source}\` -> \`${destination}\``;
  if (!destination.startsWith("/")) addNote(route, `where ${text} leads: to another host`);
  return { route, text, source, destination, isCaseSensitive };
}

/** Records rewrites in their order. Returns whether every order in which they can follow is recorded. */
function recordRewrites(
  rewrites: readonly WrittenRewrite[],
  application: Pick<Rewrite, "paths" | "targets" | "isGuarded">,
): boolean {
  const earlier: PathPair[] = [];
  for (const { route, text, source, destination, isCaseSensitive } of rewrites) {
    const direct = destination.startsWith("/") ? readRewrite(source, destination, isCaseSensitive) : [];
    // Next.js also applies later rewrites to the path.
    const followed = earlier.length > MAX_PAIRS ? [] : earlier;
    const chained = followed.flatMap((pair) => direct.flatMap((later) => chain(pair, later)));
    const pairs = [...direct, ...chained];
    recordRewrite(route, { ...application, text, hint: HINT, pairsFor: () => pairs, shown: "client" });
    earlier.push(...pairs);
  }
  return earlier.length <= MAX_PAIRS;
}

const HINT =
  "Let the rules of these paths require what the rules of the routes require, or rewrite fewer paths. Next.js ignores letter case in a source, but not in the matcher of proxy.ts, unless next.config sets experimental: { caseSensitiveRoutes: true }.";

/** Returns whether a redirect is for every path that ends with `.rsc`: one with a condition isn't. */
const isForRsc = (redirect: object): boolean =>
  /^\/:\w+\(\.\*\)\\?\.rsc$/.test(String(Reflect.get(redirect, "source"))) &&
  ["has", "missing", "basePath"].every((name) => Reflect.get(redirect, name) === undefined);

async function readConfig(exported: object = {}): Promise<NextConfig> {
  if (typeof exported !== "function") return exported;
  const create = exported as (phase: string, context: object) => NextConfig | Promise<NextConfig>;
  return create("phase-production-server", { defaultConfig: {} });
}

/** More than an application has, unless its rewrites follow each other in every order. */
const MAX_PAIRS = 1_000;

/** Returns the rewrites in the order in which Next.js tries them. */
async function readRewrites({ basePath = "", rewrites }: NextConfig): Promise<readonly NextRewrite[]> {
  const written = (await rewrites?.()) ?? [];
  const phases =
    "length" in written ? [written] : [written["beforeFiles"], written["afterFiles"], written["fallback"]];
  return phases.flatMap((phase = []) =>
    (phase as readonly NextRewrite[]).map(({ source, destination, basePath: hasBase }) => {
      const isWithin = hasBase !== false && destination.startsWith("/");
      const prefix = (path: string): string => (basePath + path).replace(/(?<=.)\/$/, "");
      return {
        source: hasBase === false ? source : prefix(source),
        destination: isWithin ? prefix(destination) : destination,
      };
    }),
  );
}

/** Files that Next.js serves under a path that isn't that of a page: images, and files for search engines. */
const SPECIAL = /^(?:(?:icon|apple-icon|opengraph-image|twitter-image)\d?|favicon|sitemap|robots|manifest)$/;
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ["sitemap", ".xml"],
  ["robots", ".txt"],
  ["manifest", ".webmanifest"],
]);

/** Reads the path of a file; returns `undefined` if Next.js doesn't serve the file. */
function readServed(path: string, pageExtensions: readonly string[]): Served | undefined {
  const folder = path.slice(0, path.lastIndexOf("/"));
  const file = path.slice(folder.length + 1);
  const name = file.replace(/\..*/, "");
  const isCode = pageExtensions.some((extension) => file === `${name}.${extension}`);
  const isFile = isCode || /\.(?:ico|jpe?g|png|svg|gif|txt|xml|json|webmanifest)$/.test(file);
  const kind = isCode && (name === "page" || name === "route") ? name : "file";
  // A folder whose name starts with an underscore is private.
  if (folder.includes("/_") || (kind === "file" && !(isFile && SPECIAL.test(name)))) return undefined;
  const last = kind === "file" ? `/${isCode ? name + (ENDINGS.get(name) ?? "") : file}` : "";
  const written = toSegments(folder).join("") + last;
  const [, before, markers = "", after = ""] = /^(.*?)\/((?:\(\.{1,3}\))+)(.*)$/.exec(folder) ?? [];
  if (before === undefined) return { kind, pattern: written, written };
  // `(.)` stands for the same level, each `(..)` for one level up, and `(...)` for the folder app.
  const parents = toSegments(before);
  const levels = markers === "(...)" ? parents.length : markers.split("(..)").length - 1;
  const requested = [...parents.slice(0, parents.length - levels), ...toSegments(after), last];
  return { kind, pattern: requested.join(""), written };
}

/** Returns the pattern of each folder. Groups and slots aren't part of a path. */
const toSegments = (folder: string): readonly string[] =>
  folder.split("/").flatMap((segment) => {
    if (segment === "" || segment.startsWith("@") || /^\(.*\)$/.test(segment)) return [];
    const [, optional, dots, name] = /^\[(\[)?(\.\.\.)?([^\]]+)\]\]?$/.exec(segment) ?? [];
    const text = segment.replace("%5F", "_").replaceAll(/[^!-~]+/g, encodeURI);
    if (name === undefined) return [`/${literalPattern(text)}`];
    const parameter = unquote(`/${dots === undefined ? ":" : "*"}${quoteName(name)}`);
    return [optional === undefined ? parameter : `{${parameter}}`];
  });

const unwrapped = (method: string, pattern: string) => {
  const name = method === "*" ? "GET" : method;
  return Object.freeze({
    message: "isn't wrapped by withScopes, or not in a form that the audit can read.",
    hint: `Write export const ${name} = withScopes(server, { route: ${JSON.stringify(`${name} ${pattern}`)} }, handler), and import withScopes from scopegate/fetch.`,
  });
};

/** Returns whether the option `route` of a handler is its route, with the same names of parameters. */
function isRouteOf({ method, pattern }: ListedRoute, written = ""): boolean {
  const path = written.startsWith(`${method} `) ? written.slice(method.length + 1) : written;
  const [writtenShape, listedShape] = [path, pattern].map((each) => JSON.stringify(alternativesOf(each)));
  return writtenShape === listedShape && path.startsWith("/");
}
