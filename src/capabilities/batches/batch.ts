/** The paths of the operations that one request calls, as tRPC's batches do: `/trpc/get,remove?batch=1`. */
import { type Path, readPath } from "../../core/request.ts";

/** The paths whose rules a batch must satisfy. */
export interface Batch {
  /** Each must have a rule; `undefined` for a path that can't be read. */
  readonly paths: readonly (Path | undefined)[];
  /** The paths of the names if the batch is served at a shorter prefix. Paths without a rule are ignored. */
  readonly wider: readonly Path[];
}

/** A comma in any number of encodings: tRPC decodes a path that Fastify has decoded already. */
const COMMA = /,|%(?:25)*2c/gi;

/** A batch that needs more lookups, or whose paths have more characters together, is an attack. */
const MAX_PATHS = 100;
const MAX_CHARACTERS = 8_192;

/** Refuses a batch without looking up each name, because names are looked up before a token is read. */
const REFUSED: Batch = { paths: [undefined], wider: [] };

/**
 * Reads a batch. Under a declared prefix, only the names count. Elsewhere,
 * another handler may serve the path, so the rule for the whole path must be satisfied too. The prefix isn't
 * known there, so each name is also looked up at the shorter prefixes, which can only add rules.
 */
export function readBatch(path: Path, declared: ReadonlySet<string>): Batch {
  const text = path.text.slice(0, path.end);
  const separated = text.includes("%") ? text.replace(COMMA, ",") : text;
  // What else is encoded twice may be a comma for tRPC: `%25%32%43`.
  if (separated.includes(",,") || separated.includes("%25")) return REFUSED;
  const distinct = new Set<string>();
  for (const name of separated.split(",")) {
    // With one more, the batch is refused below.
    if (distinct.size > MAX_PATHS) break;
    distinct.add(name);
  }
  const [first = "", ...otherNames] = distinct;
  const parent = first.slice(0, first.lastIndexOf("/"));
  const names = [first.slice(parent.length + 1), ...otherNames];
  const isDeclared = declared.has(parent) && !path.text.includes("/", parent.length + 1);
  const characters = names.reduce((sum, name) => sum + name.length + 1, 0);
  if (names.length * parent.length + characters > MAX_CHARACTERS) return REFUSED;
  const depth = isDeclared ? 1 : parent.split("/").length;
  if (names.length * depth > MAX_PATHS) return REFUSED;
  const shorterPrefixes = isDeclared ? [] : prefixesOf(parent);
  const prefixCharacters = shorterPrefixes.reduce((sum, prefix) => sum + prefix.length, parent.length);
  if (names.length * prefixCharacters + characters * depth > MAX_CHARACTERS) return REFUSED;
  const namedPaths = names.map((name) => readNamed(`${parent}/${name}`));
  // At a shorter prefix, the first name has the same path.
  const wider = shorterPrefixes
    .flatMap((prefix) => otherNames.map((name) => readNamed(`${prefix}/${name}`)))
    .filter((widerPath) => widerPath !== undefined);
  return { paths: isDeclared ? namedPaths : [path, ...namedPaths], wider };
}

/** Reads a path whose last name isn't empty: the rule for `/trpc` must not decide a name. */
const readNamed = (text: string): Path | undefined => (text.endsWith("/") ? undefined : readPath(text));

/** `/a` and the empty prefix, for `/a/b`. */
function prefixesOf(path: string): readonly string[] {
  const prefixes: string[] = [];
  let prefix = path;
  while (prefix !== "") {
    prefix = prefix.slice(0, prefix.lastIndexOf("/"));
    prefixes.push(prefix);
  }
  return prefixes;
}
