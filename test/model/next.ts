/**
 * A model of the router of Next.js: which file of a folder `app` runs for a path, after the rewrites, and which
 * parameters it receives. It imports nothing from the library. `npm run test:runtimes` compares it with Next.js.
 */

/** The options that change what runs. Every list of rewrites is in the order of the configuration. */
export interface NextApplication {
  /** Folders of pages and route handlers, such as `/(shop)/[slug]`. */
  readonly folders: readonly string[];
  /** Files of the folder `public`, such as `/logo.svg`. None of them has the path of a folder. */
  readonly files: readonly string[];
  readonly beforeFiles?: readonly NextRewrite[];
  readonly afterFiles?: readonly NextRewrite[];
  readonly fallback?: readonly NextRewrite[];
  readonly basePath?: string;
  /** Whether every path that ends with `.rsc` is redirected. */
  readonly isRscRedirected?: boolean;
}

export interface NextRewrite {
  readonly source: string;
  readonly destination: string;
}

type Params = Readonly<Record<string, string | readonly string[]>>;

/** What runs for a request. */
export interface NextMatch {
  /** The folder, or the file of `public`. */
  readonly folder: string;
  readonly params: Params;
  /** The path after the rewrites. */
  readonly path: string;
}

/** Returns the segments of a folder that are part of a path. */
const visibleOf = (folder: string): readonly string[] =>
  folder.split("/").filter((segment) => segment !== "" && !/^\(.*\)$|^@/.test(segment));

/** Next.js tries the folder itself, then text, then a parameter, then a catch-all, then an optional one. */
function rankOf(segment: string | undefined): number {
  if (segment === undefined) return 0;
  return 1 + ["[", "[...", "[[..."].filter((start) => segment.startsWith(start)).length;
}

function compareFolders(first: string, second: string): number {
  const [a, b] = [visibleOf(first), visibleOf(second)];
  const ranks = Array.from(
    { length: Math.max(a.length, b.length) },
    (_, at) => rankOf(a[at]) - rankOf(b[at]),
  );
  return ranks.find((difference) => difference !== 0) ?? 0;
}

/** Matches a path with a folder, also with a slash at its end. Texts are compared exactly, and parameters are decoded. */
function matchFolder(folder: string, path: string): Params | undefined {
  const sent = path.replace(/\/$/, "").split("/").slice(1);
  const segments = visibleOf(folder);
  const params: Record<string, string | readonly string[]> = {};
  for (const [index, segment] of segments.entries()) {
    const [, optional, dots, name = ""] = /^(\[)?\[(\.\.\.)?(\w+)\]/.exec(segment) ?? [];
    if (dots !== undefined) {
      const rest = sent.slice(index).filter((text) => text !== "");
      if (rest.length === 0 && optional === undefined) return undefined;
      return rest.length === 0 ? params : { ...params, [name]: rest.map(decodeURIComponent) };
    }
    const text = sent[index];
    if (text === undefined || text === "") return undefined;
    if (name !== "") params[name] = decodeURIComponent(text);
    else if (text !== segment) return undefined;
  }
  return sent.length === segments.length ? params : undefined;
}

/** Matches a parameter of a source or destination: the text before it, its name, expression and modifier. */
const PARAMETER = /\/([^/:]*):(\w+)(\([^)]*\))?([*+?]?)/g;

/** Matches a path with a source, in any letter case. */
function matchSource(source: string, path: string): Readonly<Record<string, string | undefined>> | undefined {
  const write = (
    _: string,
    text: string,
    name: string,
    inner: string | undefined,
    modifier: string,
  ): string => {
    const one = inner?.slice(1, -1) ?? "[^/]+?";
    if (modifier === "*") return `(?:/(?<${name}>${one}(?:/${one})*))?`;
    if (modifier === "+") return `/(?<${name}>${one}(?:/${one})*)`;
    return modifier === "?" ? `(?:/(?<${name}>${one}))?` : `/${text}(?<${name}>${one})`;
  };
  const match = new RegExp(`^${source.replaceAll(PARAMETER, write)}/?$`, "i").exec(path);
  return match ? { ...match.groups } : undefined;
}

/** Writes a destination, without its query. */
function writeDestination(destination: string, values: Readonly<Record<string, string | undefined>>): string {
  const write = (_: string, text: string, name: string): string => {
    const value = values[name];
    return value === undefined ? "" : `/${text}${value}`;
  };
  const path = destination.replace(/\?.*/, "").replaceAll(PARAMETER, write);
  return path === "" ? "/" : path;
}

/** Returns what runs for the path of a URL; `undefined` if nothing does. */
export function resolve(app: NextApplication, sentPath: string): NextMatch | undefined {
  const { basePath = "", folders, files } = app;
  const withBase = (path: string): string => (path === "/" && basePath !== "" ? basePath : basePath + path);
  let path = sentPath;
  const find = (isText: boolean): NextMatch | undefined => {
    if (path !== basePath && !path.startsWith(`${basePath}/`)) return undefined;
    const inside = path.slice(basePath.length);
    for (const folder of [...files, ...folders].toSorted(compareFolders)) {
      if (!folder.includes("[") !== isText) continue;
      const params = matchFolder(folder, inside);
      if (params) return { folder, params, path };
    }
    return undefined;
  };
  const findAny = () => find(true) ?? find(false);
  const rewrite = ({ source, destination }: NextRewrite): boolean => {
    const values = matchSource(withBase(source), path);
    if (values) path = writeDestination(withBase(destination), values);
    return values !== undefined;
  };
  for (const each of app.beforeFiles ?? []) rewrite(each);
  const file = find(true);
  if (file) return file;
  for (const each of app.afterFiles ?? []) {
    const match = rewrite(each) ? findAny() : undefined;
    if (match) return match;
  }
  const match = findAny();
  if (match) return match;
  for (const each of app.fallback ?? []) {
    const last = rewrite(each) ? findAny() : undefined;
    if (last) return last;
  }
  return undefined;
}
