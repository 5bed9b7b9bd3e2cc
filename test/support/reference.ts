/**
 * A reference for which paths match a pattern. It uses path-to-regexp, and shares no code with the library, so
 * that it cannot have the same bugs.
 */
import { match, type MatchFunction, type ParamData } from "path-to-regexp";
import { type Kinds, sourceOf } from "./patterns.ts";

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
