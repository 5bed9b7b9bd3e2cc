/**
 * A reference for the choice of a rule. It matches every rule with path-to-regexp, one by one, and shares no
 * code with the library, so that it cannot have the same bugs.
 */
import { match, type MatchFunction, type ParamData } from "path-to-regexp";
import { type Kind, type Kinds, sourceOf } from "./patterns.ts";

/** How a router reads a path before it matches it. */
interface Reading {
  readonly ignoresCase: boolean;
  readonly ignoresSlash: boolean;
  readonly decodes: boolean;
}

export const STRICT: Reading = { ignoresCase: false, ignoresSlash: false, decodes: false };
export const LOOSEST: Reading = { ignoresCase: true, ignoresSlash: true, decodes: true };

/** An entry of a table, or a route of a router. */
export interface Entry {
  readonly method: string;
  readonly kinds: Kinds;
}

export const keyOfEntry = ({ method, kinds }: Entry): string => `${method} ${sourceOf(kinds)}`;

/** A cache, because compiling a pattern is slow and properties use few patterns many times. */
const matchers = new Map<string, MatchFunction<ParamData>>();

function matcherOf(source: string, sensitive: boolean): MatchFunction<ParamData> {
  const key = `${sensitive} ${source}`;
  const matcher = matchers.get(key) ?? match(source, { sensitive, trailing: false, decode: false });
  matchers.set(key, matcher);
  return matcher;
}

/** Whether a router with this reading matches a path to a pattern. */
export function isMatch(kinds: Kinds, path: string, reading: Reading): boolean {
  const { ignoresCase, decodes } = reading;
  const source = sourceOf(kindsIn(kinds, reading));
  const text = pathIn(path, reading);
  const matchPath = matcherOf(decodes ? decodeURIComponent(source) : source, !ignoresCase);
  return matchPath(decodes ? decodeURIComponent(text) : text) !== false;
}

/** Whether Fastify matches a path to a pattern. It also accepts an empty last parameter or wildcard. */
export const isMatchOrEmpty = (kinds: Kinds, path: string, reading: Reading): boolean =>
  isMatch(kinds, path, reading) ||
  (path.endsWith("/") &&
    ["parameter", "wildcard"].includes(kinds.at(-1) ?? "") &&
    isMatch(kinds, `${path}z`, reading));

const kindsIn = (kinds: Kinds, { ignoresSlash }: Reading): Kinds =>
  ignoresSlash && kinds.at(-1) === "" ? kinds.slice(0, -1) : kinds;

const pathIn = (path: string, { ignoresSlash }: Reading): string =>
  ignoresSlash ? path.replace(/(?<=.)\/$/, "") : path;

/** The methods whose rules apply to a request, in order of precedence at one path. */
const methodsFor = (method: string): readonly string[] =>
  method === "HEAD" ? ["HEAD", "GET", "*"] : [method, "*"];

/** The narrowest entry that a router with this reading matches to a path. */
export const narrowestEntry = (
  entries: readonly Entry[],
  method: string,
  path: string,
  reading: Reading,
  matches = isMatch,
): Entry | undefined =>
  narrowestFor(entries, method, path, reading, ({ kinds }) => matches(kinds, path, reading));

function narrowestFor(
  entries: readonly Entry[],
  method: string,
  path: string,
  reading: Reading,
  isCandidate: (entry: Entry) => boolean,
): Entry | undefined {
  const text = pathIn(path, reading);
  const length = text === "/" ? 0 : text.split("/").length - 1;
  const methods = methodsFor(method);
  const [narrowest] = entries
    .filter((entry) => methods.includes(entry.method) && isCandidate(entry))
    .map((entry) => ({
      entry,
      // A slash at the end decides whether an entry matches, not how narrow it is.
      ranks: ranksOf(kindsIn(entry.kinds, LOOSEST), length),
      methodRank: methods.indexOf(entry.method),
    }))
    .sort((a, b) => compareRanks(a.ranks, b.ranks) || a.methodRank - b.methodRank);
  return narrowest?.entry;
}

const RANKS: Readonly<Record<Kind, number>> = {
  a: 0,
  A: 0,
  b: 0,
  accent: 0,
  "": 0,
  // Two literal characters are narrower than one.
  suffix: 1,
  prefix: 1,
  pair: 2,
  parameter: 3,
  wildcard: 4,
};
const REST_OF_WILDCARD = 5;

/** How narrow a pattern is for each segment of a path. A wildcard matches the segments that are left. */
function ranksOf(kinds: Kinds, length: number): readonly number[] {
  return kinds.flatMap((kind) => {
    const taken = kind === "wildcard" ? Math.max(length - kinds.length, 0) : 0;
    return [RANKS[kind], ...Array.from({ length: taken }, () => REST_OF_WILDCARD)];
  });
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const place = a.findIndex((rank, index) => rank !== b[index]);
  return place < 0 ? a.length - b.length : (a[place] ?? 0) - (b[place] ?? -1);
}
