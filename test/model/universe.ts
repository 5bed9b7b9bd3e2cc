/** All tables and paths up to a size: few enough to try them all, with every kind of segment and spelling. */
import type { Requirement, Rule } from "./specification.ts";

/** A set of tables, and the requests that are tried with each of them. */
export interface Universe {
  readonly name: string;
  /** A table has this many rules. */
  readonly size: number;
  readonly ruleMethods: readonly string[];
  readonly patterns: readonly string[];
  readonly requirements: readonly ((place: number) => Requirement)[];
  /** The methods and paths of the requests. */
  readonly methods: readonly string[];
  readonly paths: readonly string[];
  /** The patterns of routes that may run, besides those of the table. */
  readonly routes: readonly string[];
}

/** Text, a parameter, a parameter with text behind it, a wildcard or a slash at the end. */
const PATTERNS = [
  "/",
  "/a",
  "/a/",
  "/:x",
  "/:x-b",
  "/*w",
  "/{*w}",
  "/a/b",
  "/a/:x",
  "/a{/*w}",
  "/:x/b",
  "/:x/:y",
  "/:x/*w",
  "/a/*w",
  "/a/:x-b",
  "/a/:x/b",
];

/** More of each kind, and texts that differ only in how they are spelled. */
const MORE_PATTERNS = [
  ...PATTERNS,
  "/A",
  "/%61",
  "/b",
  "/:x/",
  "/a/b/",
  "/:x{/*w}",
  "/A/:x",
  "/:x-b/b",
  "/:x-b-b",
  "/:x-B/:y",
  "/:x/a/b",
  "/a/b/:x",
  "/:x/:y/:z",
  "/:x-%62",
  "/a-b",
  "/s",
];

/** What only routers have: optional parts, wildcards in the middle, and any text and parameters in a segment. */
const ROUTES = [
  ...MORE_PATTERNS,
  "/a-:x",
  "/a{/:x}",
  "/*w/b",
  "/a/a-:x",
  "/a/{*w}",
  "/:x{/b}",
  "/*w/:x",
  "/a/*w/b",
  "/{:x}",
  "/:x-:y",
];

const isPublic = () => "public" as const;
const isOptional = () => "optional" as const;
/** A scope that no other rule of the table requires. */
const requiresScope = (place: number) => [`r${place}:read`];
const requiresToken = () => [];
const requiresCommonScope = () => ["common:read"];
/** For the first rule, a scope that the common one covers; for others, one that it does not. */
const requiresNarrowScope = (place: number) => [place === 0 ? "common:web:read" : `r${place}:read`];

/** One of each class of segments that some router treats in its own way. Targets with others are refused. */
const SEGMENTS = ["a", "A", "%61", "b", "a-b"];
// `%C5%BF` is a letter whose upper case is `S`.
const MORE_SEGMENTS = [...SEGMENTS, "%C5%BF", "a-", "%41", "B", "%62", "a%2db", "A-b", "z", "%2561"];

/** Every path of at most `length` of these segments, with and without a slash at its end. */
export function pathsOf(segments: readonly string[], length: number): readonly string[] {
  let longest: readonly string[] = [""];
  const paths = ["/"];
  for (let count = 0; count < length; count += 1) {
    longest = longest.flatMap((head) => segments.map((segment) => `${head}/${segment}`));
    paths.push(...longest.flatMap((path) => [path, `${path}/`]));
  }
  return paths;
}

const unique = (...lists: readonly (readonly string[])[]): readonly string[] => [...new Set(lists.flat())];

const PATHS = unique(
  pathsOf(SEGMENTS, 3),
  pathsOf(["a", "A", "b"], 4),
  // Empty text of a parameter, text that two patterns match, and a path that spells each pattern exactly.
  pathsOf(["a", "b", "a-", "-b", "a-b-b", "A-B", "a-%62"], 2),
  pathsOf(["s", "%C5%BF"], 1),
);

export const UNIVERSES: readonly Universe[] = [
  {
    name: "one rule",
    size: 1,
    ruleMethods: ["GET", "HEAD", "*"],
    patterns: MORE_PATTERNS,
    requirements: [isPublic, isOptional, requiresToken, requiresScope],
    methods: ["GET", "HEAD", "POST"],
    paths: unique(pathsOf(MORE_SEGMENTS, 3), pathsOf(SEGMENTS, 4)),
    routes: ROUTES,
  },
  {
    name: "two rules",
    size: 2,
    ruleMethods: ["GET", "HEAD", "*"],
    patterns: MORE_PATTERNS,
    requirements: [isPublic, isOptional, requiresCommonScope, requiresNarrowScope],
    methods: ["GET", "HEAD", "POST"],
    paths: PATHS,
    routes: ["/a", "/:x", "/{*w}", "/a/:x", "/:x/b", "/a{/*w}", "/a-:x", "/:x-b"],
  },
  {
    name: "three rules",
    size: 3,
    ruleMethods: ["GET", "*"],
    patterns: PATTERNS,
    requirements: [isPublic, isOptional, requiresScope],
    methods: ["GET", "POST"],
    paths: PATHS,
    routes: [],
  },
];

/** The method and the pattern of a rule. */
export type Key = Pick<Rule, "method" | "pattern">;

/** How many choices of keys a universe has. Each is tried with every choice of requirements. */
export const countChoices = ({ size, ruleMethods, patterns }: Universe): number =>
  choose(ruleMethods.length * patterns.length, size);

/** How many tables a universe has. */
export const countTables = (universe: Universe): number =>
  countChoices(universe) * universe.requirements.length ** universe.size;

function choose(total: number, size: number): number {
  let count = 1;
  for (let index = 0; index < size; index += 1) count = (count * (total - index)) / (index + 1);
  return count;
}

/** Neighbors have most keys in common. With steps of a prime, the first choices are spread evenly over all. */
const STEP = 7919;

/** Returns a choice of keys by its number, from 0 on. */
export const choiceAt = (universe: Universe, number: number): readonly Key[] =>
  keysAt(universe, (number * STEP) % countChoices(universe));

function keysAt({ size, ruleMethods, patterns }: Universe, number: number): readonly Key[] {
  const all = ruleMethods.flatMap((method) => patterns.map((pattern) => ({ method, pattern })));
  const keys: Key[] = [];
  let rest = number;
  for (const [index, key] of all.entries()) {
    if (keys.length === size) break;
    // In so many choices, this key is the next one.
    const count = choose(all.length - index - 1, size - keys.length - 1);
    if (rest < count) keys.push(key);
    else rest -= count;
  }
  return keys;
}

/** Returns the tables with these keys: one for each choice of requirements. */
export function tablesWith(keys: readonly Key[], { requirements }: Universe): readonly (readonly Rule[])[] {
  let tables: readonly (readonly Rule[])[] = [[]];
  for (const [place, key] of keys.entries())
    tables = tables.flatMap((table) =>
      requirements.map((requirement) => [...table, { ...key, requirement: requirement(place) }]),
    );
  return tables;
}
