/** Compares the library with the specification, for every request of every table of a universe. */
import type { ConfigurationIssue, Report } from "../../src/core/errors.ts";
import { compileRules } from "../../src/core/policy/compile-rules.ts";
import { checkOrder } from "../../src/core/policy/rule-order.ts";
import type { Governing } from "../../src/core/policy/governing.ts";
import { Table } from "../../src/core/policy/table.ts";
import type { ScopeRules } from "../../src/core/scopes/granted-scopes.ts";
import type { Divided } from "./helpers.ts";
import { isRouteFor, type Reading, READINGS, STRICTEST } from "./routers.ts";
import {
  alternativesOf,
  areDistinct,
  candidatesFor,
  isOrdered,
  matchSegments,
  narrowestOf,
  readTarget,
  type Rule,
  ruleCovering,
  rulesOfPath,
  rulesOfRoute,
  type Ruling,
  withoutRoute,
} from "./specification.ts";
import { type Key, tablesWith, type Universe } from "./universe.ts";

/** A claim that does not hold for a table. */
export interface Violation {
  readonly claim: string;
  readonly table: readonly Rule[];
  readonly request: string;
  readonly details: string;
}

export interface Counts {
  tables: number;
  /** Tables with which a server starts. */
  started: number;
  /** Rulings by the path: two for each path, with and without a route to check later. */
  paths: number;
  /** Rulings by the path and by the matched route. */
  routes: number;
  /** Rulings of both kinds that are 400. */
  ambiguous: number;
}

export const noCounts = (): Counts => ({ tables: 0, started: 0, paths: 0, routes: 0, ambiguous: 0 });

export function addCounts(sum: Counts, added: Counts): void {
  for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += added[name];
}

/** A path, and what the specification and the models of routers read from it. */
interface PreparedPath {
  readonly text: string;
  readonly path: Divided;
  /** For each pattern, a number that other paths have too if the pattern matches them in the same way. */
  readonly classes: ReadonlyMap<string, number>;
  /** The patterns to which some router matches the path. */
  readonly routes: ReadonlySet<string>;
  /** For each pattern, whether a router matches the path to it, in the order of `READINGS`. */
  readonly readings: ReadonlyMap<string, readonly boolean[]>;
}

/** A ruling of the specification. `keys` are the keys of its rules, sorted and joined. */
interface Expected {
  readonly kind: Ruling["kind"];
  readonly keys: string;
}

interface ExpectedForPath {
  readonly alone: Expected;
  readonly byPath: Expected;
  readonly ruling: Ruling;
  readonly byRoute: Map<string, Expected>;
}

const SCOPE_RULES: ScopeRules = { adminScope: "platform:admin", implied: new Map() };

/** Tries the tables of a universe. */
export class Comparison {
  counts = noCounts();
  violations: Violation[] = [];
  readonly #universe: Universe;
  readonly #paths: readonly PreparedPath[];

  constructor(universe: Universe) {
    this.#universe = universe;
    const classNumbers = new Map<string, number>();
    this.#paths = universe.paths.map((text) => preparePath(text, universe.patterns, classNumbers));
  }

  /** Forgets what it has counted and found. */
  reset(): void {
    this.counts = noCounts();
    this.violations = [];
  }

  /** Tries every request with every table that has these keys. */
  compareTables(keys: readonly Key[]): void {
    const paths = this.#paths.map((prepared) => ({ ...prepared, key: classOf(prepared, keys) }));
    const patterns = [...new Set([...keys.map(({ pattern }) => pattern), ...this.#universe.routes])];
    /** Rulings depend on which rules need a token, but not on their scopes. */
    const rulings = new Map<string, Map<string, ExpectedForPath>>();
    for (const table of tablesWith(keys, this.#universe)) {
      this.counts.tables += 1;
      const compiled = compile(table);
      const mayStart = this.#mayStart(table, paths);
      if (mayStart !== (compiled !== undefined))
        this.#report(
          "A server starts exactly if its rules are distinct and have one right order.",
          table,
          "",
          mayStart ? "The server does not start." : "The server starts.",
        );
      if (!compiled) continue;
      this.counts.started += 1;
      const openness = table.map(({ requirement }) => typeof requirement === "string").join();
      for (const method of this.#universe.methods) {
        const key = `${method} ${openness}`;
        const ofMethod = rulings.get(key) ?? new Map<string, ExpectedForPath>();
        rulings.set(key, ofMethod);
        this.#comparePaths(table, compiled, method, paths, patterns, ofMethod);
      }
    }
  }

  #mayStart(table: readonly Rule[], paths: readonly (PreparedPath & { readonly key: string })[]): boolean {
    const areAllDistinct = table.every((rule, index) =>
      table.slice(index + 1).every((other) => areDistinct(rule, other)),
    );
    if (!areAllDistinct) return false;
    const tried = new Set<string>();
    return paths.every(({ key, path }) => {
      if (tried.has(key)) return true;
      tried.add(key);
      return this.#universe.methods.every((method) => isOrdered(table, method, path));
    });
  }

  #comparePaths(
    table: readonly Rule[],
    compiled: Table,
    method: string,
    paths: readonly (PreparedPath & { readonly key: string })[],
    patterns: readonly string[],
    rulings: Map<string, ExpectedForPath>,
  ): void {
    for (const prepared of paths) {
      const { text, path, key, routes, classes } = prepared;
      const expected = rulings.get(key) ?? decidePath(table, method, path);
      rulings.set(key, expected);
      const alone = compiled.forTarget(method, text, false);
      this.#compare("Without a route, the path decides.", table, method, text, expected.alone, alone);
      const byPath = compiled.forTarget(method, text, true);
      this.#compare("The path decides.", table, method, text, expected.byPath, byPath);
      this.counts.paths += 2;
      for (const route of patterns) {
        if (!routes.has(route)) continue;
        const actual = compiled.forRoute(byPath, method, [route]);
        this.counts.routes += 1;
        const routeKey = `${classes.get(route)}`;
        let expectedForRoute = expected.byRoute.get(routeKey);
        if (!expectedForRoute) {
          const ruling = rulesOfRoute(table, method, path, route, expected.ruling);
          expectedForRoute = toExpected(ruling);
          expected.byRoute.set(routeKey, expectedForRoute);
          for (const details of findUnsafe(table, method, prepared, route, ruling))
            this.#report(
              "No router runs a route without its rules.",
              table,
              `${method} ${text} at ${route}`,
              details,
            );
        }
        this.#compare("The route decides, too.", table, method, text, expectedForRoute, actual, route);
      }
    }
  }

  #compare(
    claim: string,
    table: readonly Rule[],
    method: string,
    text: string,
    expected: Expected,
    actual: Governing,
    route?: string,
  ): void {
    if (actual.kind === "ambiguous") this.counts.ambiguous += 1;
    const keys = keysOf(actual.matches.map(({ compiled }) => compiled.rule));
    if (expected.kind === actual.kind && expected.keys === keys) return;
    const request = `${method} ${text}${route === undefined ? "" : ` at ${route}`}`;
    this.#report(claim, table, request, `${expected.kind} ${expected.keys}, but ${actual.kind} ${keys}`);
  }

  #report(claim: string, table: readonly Rule[], request: string, details: string): void {
    this.violations.push({ claim, table, request, details });
  }
}

const keyOf = ({ method, pattern }: Key): string => `${method} ${pattern}`;

const keysOf = (rules: readonly Key[]): string => rules.map(keyOf).sort().join(", ");

/** Compiles a table as a server does at its start. Returns `undefined` if the server does not start. */
function compile(table: readonly Rule[]): Table | undefined {
  const mistakes: ConfigurationIssue[] = [];
  const report: Report = (mistake) => void mistakes.push(mistake);
  const mappings = Object.fromEntries(table.map((rule) => [keyOf(rule), rule.requirement]));
  const compiled = compileRules({}, mappings, report);
  if (mistakes.length === 0) checkOrder({ ...compiled, scopeRules: SCOPE_RULES }, report);
  return mistakes.length === 0 ? new Table(compiled) : undefined;
}

function preparePath(
  text: string,
  patterns: readonly string[],
  classNumbers: Map<string, number>,
): PreparedPath {
  const path = readTarget(text);
  if (!path) throw new Error(`${text} is not a readable path.`);
  const classes = new Map<string, number>();
  const routes = new Set<string>();
  const readings = new Map<string, readonly boolean[]>();
  for (const pattern of patterns) {
    const isReadBy = READINGS.map((reading) => isRouteFor(pattern, text, reading));
    if (isReadBy.includes(true)) routes.add(pattern);
    readings.set(pattern, isReadBy);
    const description = JSON.stringify([pattern, describeMatches(pattern, path), isReadBy, path.hasSlash]);
    const number = classNumbers.get(description) ?? classNumbers.size;
    classNumbers.set(description, number);
    classes.set(pattern, number);
  }
  return { text, path, classes, routes, readings };
}

const describeMatches = (pattern: string, path: Divided): unknown =>
  alternativesOf(pattern).flatMap(({ segments }) =>
    [path.segments, [...path.segments, ""]].map((read) => {
      const match = matchSegments(segments, read);
      return match ? [[...match.misspelled], match.ranks] : "none";
    }),
  );

const classOf = ({ classes }: PreparedPath, keys: readonly Key[]): string =>
  keys.map(({ pattern }) => classes.get(pattern)).join(" ");

function decidePath(table: readonly Rule[], method: string, path: Divided): ExpectedForPath {
  const ruling = rulesOfPath(candidatesFor(table, method, path), method, path.hasSlash);
  return {
    ruling,
    byPath: toExpected(ruling),
    alone: toExpected(withoutRoute(ruling)),
    byRoute: new Map(),
  };
}

const toExpected = ({ kind, rules }: Ruling): Expected => ({ kind, keys: keysOf([...rules]) });

/**
 * Returns what is wrong with a ruling, whichever router runs the route. It may be the first or the only
 * route that the application has, so the order in which a router tries routes makes no difference.
 */
function* findUnsafe(
  table: readonly Rule[],
  method: string,
  { text, path, readings }: PreparedPath,
  route: string,
  ruling: Ruling,
): Iterable<string> {
  if (ruling.kind === "ambiguous") {
    const isCanonical =
      isRouteFor(route, text, STRICTEST) &&
      candidatesFor(table, method, path).every(
        ({ misspelled, endsAsWritten }) => misspelled.size === 0 && endsAsWritten,
      );
    if (isCanonical) yield "It is refused, although all routers read it in one way.";
    return;
  }
  const withEmptySegment = { segments: [...path.segments, ""], hasSlash: false };
  const candidates = candidatesFor(table, method, path);
  const candidatesWithEmpty = candidatesFor(table, method, withEmptySegment);
  const isCovered = alternativesOf(route).some(
    ({ segments }) =>
      matchSegments(segments, withEmptySegment.segments) && ruleCovering(table, method, segments),
  );
  const isReadAs = (pattern: string, place: number): boolean => readings.get(pattern)?.[place] ?? false;
  for (const [place, reading] of READINGS.entries()) {
    if (!isReadAs(route, place)) continue;
    const placeWithoutEmpty = PLACES_WITHOUT_EMPTY[place] ?? place;
    // A route that no rule covers is decided by the path alone.
    const readsEmpty = isCovered && !isReadAs(route, placeWithoutEmpty);
    const read = (readsEmpty ? candidatesWithEmpty : candidates).filter(({ rule }) =>
      isReadAs(rule.pattern, readsEmpty ? place : placeWithoutEmpty),
    );
    const requiredRule = narrowestOf(read, method)?.rule;
    if (requiredRule && ![...ruling.rules].some((rule) => isSameRoute(rule, requiredRule)))
      yield `${keyOf(requiredRule)} is not required if a router reads ${JSON.stringify(reading)}.`;
  }
}

const placeOfReading = (reading: Reading): number =>
  READINGS.findIndex((other) => JSON.stringify(other) === JSON.stringify(reading));
const PLACES_WITHOUT_EMPTY = READINGS.map((reading) =>
  placeOfReading({ ...reading, matchesEmpty: "nothing" }),
);

/** Returns whether two rules are for one route. Different requirements keep them from counting as a repetition. */
const isSameRoute = (rule: Rule, other: Rule): boolean =>
  rule === other || !areDistinct({ ...rule, requirement: [] }, { ...other, requirement: ["other"] });
