/** The paths of `rewrites` and of a `matcher` in Next.js, and what a rewrite makes of them. */
import { commonPatterns } from "../../../core/policy/overlap.ts";
import { isPattern, parsePattern } from "../../../core/policy/parse-pattern.ts";
import { namesOf, type PatternSegment } from "../../../core/policy/pattern.ts";
import { coversInCase, mapTexts } from "../letter-case.ts";

export type Segments = readonly PatternSegment[];

/** What a rewrite does. A name that both paths contain has the same value in both. */
export interface PathPair {
  /** The path that the client sends. */
  readonly client: Segments;
  /** The path that Next.js looks up instead. */
  readonly target: Segments;
}

/** Matches a parameter that is a whole segment, as path-to-regexp 6 writes it: `/:path(.*)` or `/:path*`. */
const PARAMETER = /\/:(\w+)(\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*\))?([*+?]?)(?=\/|$)/g;

/** Matches an expression that matches neither a slash nor an empty string. */
const ONE_SEGMENT = /^\((?:\\[dw]\+?|[\w|.-]+|\[\^\/\]\+)\)$/;

/**
 * Writes a path in the syntax of the table. Expressions count as matching, so the result may match more. A
 * parameter of which `mayBeLong` is true can have several segments. `otherwise` is for an unreadable path.
 */
export function toPattern(
  path: string,
  mayBeLong: (name: string) => boolean = () => false,
  otherwise = "/{*anySource}",
): string {
  const write = (_: string, name: string, expression: string | undefined, modifier: string): string => {
    const isOneSegment = expression === undefined || ONE_SEGMENT.test(expression);
    const isLong = modifier === "*" || modifier === "+" || mayBeLong(name) || !isOneSegment;
    const segment = `/${isLong ? "*" : ":"}${name}`;
    return modifier === "?" || (isLong && modifier !== "+") ? `{${segment}}` : segment;
  };
  const pattern = path.replaceAll(PARAMETER, write);
  const isRead = ![...pattern.matchAll(/[^/]:(\w+)/g)].some(([, name = ""]) => mayBeLong(name));
  const rooted = atRoot(pattern);
  return isRead && isPattern(parsePattern(rooted)) ? rooted : otherwise;
}

/** Writes a pattern that starts with an optional part as one that starts with a slash. */
export const atRoot = (pattern: string): string => (pattern || "/").replace(/^\{\//, "/{");

export function alternativesOf(source: string): readonly Segments[] {
  const pattern = parsePattern(source);
  return isPattern(pattern) ? pattern.alternatives.map(({ segments }) => segments) : [];
}

/**
 * Reads a rewrite, whose query isn't part of the path. Next.js compares a source without letter case, so it's
 * also read in another one, unless `isCaseSensitive` is true.
 */
export function readRewrite(
  source: string,
  destination: string,
  isCaseSensitive = true,
): readonly PathPair[] {
  const written = alternativesOf(toPattern(source));
  const clients = isCaseSensitive ? written : written.flatMap(inBothCases);
  const kinds = new Map(
    clients.flat().flatMap((segment) => namesOf(segment).map((name) => [name, segment.kind])),
  );
  // A name that the source doesn't contain is from a condition on a header or a query, and has any value.
  const mayBeLong = (name: string): boolean => (kinds.get(name) ?? "wildcard") === "wildcard";
  const path = destination.replace(/[?#].*/, "");
  const targets = alternativesOf(toPattern(path, mayBeLong, "/{*anyDestination}"));
  const all = new Set(targets.flat().flatMap(namesOf));
  const common = [...kinds.keys()].filter((name) => all.has(name));
  const has = (path: Segments, name: string): boolean =>
    path.some((segment) => namesOf(segment).includes(name));
  return clients.flatMap((client) =>
    targets
      .filter((target) => common.every((name) => has(client, name) === has(target, name)))
      .map((target) => ({ client, target })),
  );
}

const inBothCases = (path: Segments): readonly Segments[] => {
  const capitals = mapTexts(path, (text) => text.toUpperCase());
  const letters = mapTexts(path, (text) => text.toLowerCase());
  const other = [capitals, letters].find((each) => JSON.stringify(each) !== JSON.stringify(path));
  return other ? [path, other] : [path];
};

type Binding = ReadonlyMap<string, Segments>;

/** Finds the values of the parameters with which a path is a path of the pattern. */
function* bindings(path: Segments, pattern: Segments, binding: Binding = new Map()): Iterable<Binding> {
  const [segment, ...rest] = path;
  const [other, ...others] = pattern;
  if (!segment || !other) {
    if (!segment && !other) yield binding;
  } else if (segment.kind === "wildcard") {
    for (let count = 1; count <= pattern.length; count += 1) {
      const extended = new Map([[segment.name, pattern.slice(0, count)], ...binding]);
      const [last, ...more] = pattern.slice(count - 1);
      yield* bindings(rest, more, extended);
      // The wildcard of the pattern can also stand for further segments of the path.
      if (last?.kind === "wildcard")
        yield* bindings(rest, [{ ...last, name: `${last.name}~` }, ...more], extended);
    }
  } else if (other.kind === "wildcard") {
    yield* bindings(rest, others, binding);
    yield* bindings(rest, pattern, binding);
  } else if (segment.kind === "parameter") {
    yield* bindings(rest, others, new Map([[segment.name, [other]], ...binding]));
  } else if (commonPatterns([segment], [other]).length > 0) yield* bindings(rest, others, binding);
}

const substitute = (path: Segments, binding: Binding): Segments =>
  path.flatMap((segment) => ("name" in segment ? binding.get(segment.name) : undefined) ?? [segment]);

let renameCount = 0;

/** Gives parameters names that no other paths have. A name in several of these paths stays one name. */
function rename(...paths: readonly Segments[]): readonly Segments[] {
  renameCount += 1;
  return paths.map((path) =>
    path.map((segment) =>
      "name" in segment ? { ...segment, name: `${segment.name.split("~")[0]}~${renameCount}` } : segment,
    ),
  );
}

/** Returns the part of a rewrite in which one of its paths is a path of the pattern. */
export function narrow(pair: PathPair, side: keyof PathPair, pattern: Segments): readonly PathPair[] {
  const [renamed = []] = rename(pattern);
  return [...bindings(pair[side], renamed)].map((binding) => ({
    client: substitute(pair.client, binding),
    target: substitute(pair.target, binding),
  }));
}

/** Returns what two rewrites do together: the later one rewrites a path that the earlier one has made. */
export const chain = (earlier: PathPair, later: PathPair): readonly PathPair[] =>
  narrow(earlier, "target", later.client).flatMap(({ client, target: rewrittenOnce }) => {
    const [laterClient = [], laterTarget = []] = rename(later.client, later.target);
    return [...bindings(laterClient, rewrittenOnce)].map((binding) => ({
      client,
      target: substitute(laterTarget, binding),
    }));
  });

/** Which paths `proxy.ts` guards. */
export type Matcher = (path: Segments) => boolean;

/**
 * Creates the matcher of some sources; `undefined` if they can't be read. The source `/((?!api).*)` excludes
 * all paths that start with these letters, such as `/apiary`. The page `/[lang]/[id]` runs below `/_next`.
 */
export function createMatcher(sources: readonly string[] | undefined, basePath: string): Matcher | undefined {
  const matchers = sources?.map((source): Matcher | undefined => {
    const everything = /^\/\((?:\(\?!((?:[\w/|-]|\\?\.)+)\))?\.\*\)$/.exec(source);
    // Only what is read exactly: in a group or a final slash, Next.js and a table differ.
    const isPlain = !/[({]|.\/$/.test(source);
    const read = everything
      ? (everything[1]?.split("|").flatMap(pathsFrom) ?? [])
      : [isPlain ? toPattern(source, undefined, "") : ""];
    if (read.includes("")) return undefined;
    const paths = read.flatMap((path) => alternativesOf(basePath + path));
    if (!everything) return (path) => paths.some((each) => coversInCase(each, path));
    // Below a basePath, this form of a source doesn't match the home page.
    const all = alternativesOf(basePath === "" ? "/{*rest}" : `${basePath}/*rest`);
    return (path) =>
      all.some((each) => coversInCase(each, path)) &&
      paths.every((each) => commonPatterns(each, path).length === 0);
  });
  if (!matchers || matchers.includes(undefined)) return undefined;
  return (path) => matchers.length === 0 || matchers.some((matches) => matches?.(path));
}

/** Writes the paths that a matcher excludes by their start, a regular expression; `""` if it's empty. */
function pathsFrom(start: string): readonly string[] {
  const [first = "", ...others] = start.split(/(?<!\\)\.+/).map((text) => text.replaceAll("\\.", "."));
  let texts = [first];
  // A dot is any character.
  for (const [index, other] of others.entries())
    texts = texts.flatMap((text) => [`${text}:"dot${index}"${other}`, `${text}/${other}`]);
  return texts.flatMap((text) => {
    if (text === "") return [""];
    return text.endsWith("/") ? [`/${text}*rest`] : [`/${text}{/*rest}`, `/${text}:more{/*rest}`];
  });
}
