/** Tables, callers and small random patterns for the tests of the policy. */
import fc from "fast-check";
import { match, type MatchFunction, type ParamData } from "path-to-regexp";
import { ConfigurationError, type ConfigurationIssue, type Report } from "../../src/errors.ts";
import { compileRules } from "../../src/policy/compile-rules.ts";
import { type Pattern } from "../../src/policy/pattern.ts";
import { isPattern, parsePattern } from "../../src/policy/parse-pattern.ts";
import { type Requirement, type ScopeMappings } from "../../src/policy/requirement.ts";
import { type RouteAnswer, RouteFinder } from "../../src/policy/route-table.ts";
import { type CompiledRule, type RuleMatch } from "../../src/policy/rule.ts";
import { createPrincipal, type Principal } from "../../src/token/principal.ts";
import { type Path } from "../../src/path.ts";
import { type AccessRequest, type PathReading, readPath } from "../../src/request.ts";
import { type ScopeRules } from "../../src/scopes/scope.ts";
import { resolveScopeRules } from "../../src/scopes/scope-rules.ts";

/** How often a property is tried. The seed is fixed, so that a run can be repeated. */
export const PROPERTY = { numRuns: 200, seed: 6749 } as const;

export const EXACT: PathReading = { ignoreCase: false, ignoreTrailingSlash: false };
export const LENIENT: PathReading = { ignoreCase: true, ignoreTrailingSlash: true };

/** Runs something that reports, and gives what it made and every mistake. */
export function reporting<T>(run: (report: Report) => T): {
  readonly value: T;
  readonly issues: readonly ConfigurationIssue[];
} {
  const issues: ConfigurationIssue[] = [];
  const value = run((issue) => issues.push(issue));
  return { value, issues };
}

/** The mistakes in a table. */
export const tableIssues = (
  customs: ScopeMappings,
  defaults: ScopeMappings = {},
): readonly ConfigurationIssue[] => reporting((report) => compileRules(defaults, customs, report)).issues;

/** A compiled table; throws where it holds mistakes. */
export function rulesOf(customs: ScopeMappings, defaults: ScopeMappings = {}): readonly CompiledRule[] {
  const { value, issues } = reporting((report) => compileRules(defaults, customs, report));
  if (issues.length > 0) throw new ConfigurationError(issues);
  return value;
}

export const tableOf = (customs: ScopeMappings, defaults: ScopeMappings = {}): RouteFinder =>
  new RouteFinder(rulesOf(customs, defaults));

/** What a table answers for a request whose target is readable. */
export function answerOf(
  table: RouteFinder,
  method: string,
  target: string,
  more: Partial<AccessRequest> = {},
): RouteAnswer {
  const path = readPath(target);
  if (!path) throw new Error(`${target} is no readable target.`);
  return table.find({ method, target, ...more }, path);
}

/** The keys of the rules that decide, `"unmapped"` or `"ambiguous"`. */
export const keysOf = (answer: RouteAnswer): readonly string[] | string =>
  typeof answer === "object" ? answer.map(({ compiled }) => compiled.rule.key) : answer;

/** The key of the one rule that decides, `"unmapped"` or `"ambiguous"`; of several rules all of their keys. */
export function keyOf(answer: RouteAnswer): string {
  const keys = keysOf(answer);
  return typeof keys === "string" ? keys : keys.join(" and ");
}

/** The rule and the parameters for a request; throws where not exactly one rule decides. */
export function matchOf(
  table: RouteFinder,
  method: string,
  target: string,
  more: Partial<AccessRequest> = {},
): RuleMatch {
  const answer = answerOf(table, method, target, more);
  if (typeof answer === "string" || answer.length > 1)
    throw new Error(`${method} ${target} is ${keyOf(answer)}.`);
  return answer[0];
}

/** A pattern that must be right. */
export function patternOf(source: string): Pattern {
  const parsed = parsePattern(source);
  if (!isPattern(parsed)) throw new Error(`${source} ${parsed.message}`);
  return parsed;
}

/** How scopes cover others; throws where the hierarchy is wrong. */
export function scopeRulesOf(
  impliedScopes: Readonly<Record<string, readonly string[]>> = {},
  adminScope: string | null = "platform:admin",
): ScopeRules {
  const { value, issues } = reporting((report) => resolveScopeRules(adminScope, impliedScopes, report));
  if (issues.length > 0) throw new ConfigurationError(issues);
  return value;
}

/** How scopes cover others where a test says nothing else. */
export const SCOPE_RULES = scopeRulesOf();

export const callerWith = (...scopes: readonly string[]): Principal =>
  createPrincipal({ scopes, audience: [], claims: {} }, SCOPE_RULES);

/** Every object that can be reached from a value, itself included. */
export function objectsIn(value: unknown, found = new Set<object>()): ReadonlySet<object> {
  if (typeof value !== "object" || value === null || found.has(value)) return found;
  found.add(value);
  for (const member of Object.values(value) as unknown[]) objectsIn(member, found);
  return found;
}

/** The members of a value that could be changed, the value itself included. */
export const changeable = (value: unknown): readonly object[] =>
  [...objectsIn(value)].filter((one) => !Object.isFrozen(one));

/** One segment of a small pattern: a text, or what stands for one. `mixed` is `:name-b`. */
export type Kind = "a" | "A" | "b" | "mixed" | "parameter" | "wildcard" | "";

/** The pattern of some segments; each parameter is named after its place. */
export const sourceOf = (kinds: readonly Kind[]): string =>
  `/${kinds.map((kind, index) => segmentSource(kind, `p${index}`)).join("/")}`;

function segmentSource(kind: Kind, name: string): string {
  if (kind === "mixed") return `:${name}-b`;
  if (kind === "parameter") return `:${name}`;
  return kind === "wildcard" ? `*${name}` : kind;
}

/** Whether a pattern can be written: routers divide a path between two wildcards in different ways. */
export const hasOneWildcard = (all: readonly Kind[]): boolean =>
  all.filter((kind) => kind === "wildcard").length <= 1;

/** Patterns of up to four segments with one wildcard at most. */
export const kinds = (
  of: readonly Kind[] = ["a", "b", "mixed", "parameter", "wildcard"],
): fc.Arbitrary<Kind[]> => fc.array(fc.constantFrom(...of), { maxLength: 4 }).filter(hasOneWildcard);

/** Several patterns, no two of them the same. */
export const kindsTable = (one = kinds()): fc.Arbitrary<Kind[][]> =>
  fc.uniqueArray(one, { minLength: 1, maxLength: 8, selector: sourceOf });

/** A table of `GET` rules that ask for the same. */
export const getTable = (
  sources: readonly string[],
  requirement: Requirement = "public",
): Record<string, Requirement> => Object.fromEntries(sources.map((source) => [`GET ${source}`, requirement]));

/** A path of some segments, as text. */
export const textOf = (segments: readonly string[]): string => `/${segments.join("/")}`;

/** The same, as it is read. */
export function pathOf(segments: readonly string[]): Path {
  const path = readPath(textOf(segments));
  if (!path) throw new Error(`${textOf(segments)} is no readable path.`);
  return path;
}

/** Paths of up to five segments, of texts that are static in some patterns, mixed in others and neither. */
export const pathSegments: fc.Arbitrary<string[]> = fc
  .tuple(fc.array(fc.constantFrom("a", "b", "c", "a-b", "c-b"), { maxLength: 5 }), fc.boolean())
  .map(([segments, hasTrailingSlash]) =>
    hasTrailingSlash && segments.length > 0 ? [...segments, ""] : segments,
  );

/** Properties ask for few patterns many times. */
const matchers = new Map<string, MatchFunction<ParamData>>();

/** The parameters that path-to-regexp reads from a path, or `undefined` where the pattern does not match it. */
export function paramsByPathToRegexp(
  source: string,
  path: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const matches = matchers.get(source) ?? match(source, { sensitive: true, trailing: false, decode: false });
  matchers.set(source, matches);
  const matched = matches(`/${path.join("/")}`);
  return matched ? (matched.params as Record<string, string>) : undefined;
}

/** Paths of a pattern: each parameter filled with texts that other patterns hold, and with one that none holds. */
export function samplePaths(pattern: readonly Kind[]): readonly (readonly string[])[] {
  return pattern.reduce<readonly (readonly string[])[]>(
    (heads, kind, index) =>
      heads.flatMap((head) =>
        samplesOf(kind, index === pattern.length - 1).map((tail) => [...head, ...tail]),
      ),
    [[]],
  );
}

function samplesOf(kind: Kind, isLast: boolean): readonly (readonly string[])[] {
  switch (kind) {
    case "mixed":
      return [["a-b"], ["z-b"]];
    case "parameter":
      return [["a"], ["b"], ["z"], ["z-b"]];
    case "wildcard":
      return [["a"], ["z"], ["z-b"], ["a", "b"], ["z", "z"], ["b", "z", "a"], ...(isLast ? [["z", ""]] : [])];
    default:
      return [[kind]];
  }
}

/** Of several patterns the one that takes a path the narrowest way, told by path-to-regexp and by hand. */
export function narrowestByHand(
  table: readonly (readonly Kind[])[],
  path: readonly string[],
): readonly Kind[] | undefined {
  const matching = table.filter((pattern) => paramsByPathToRegexp(sourceOf(pattern), path));
  const readable = table.filter((pattern) => narrowestReading(pattern, path));
  if (readable.length !== matching.length) throw new Error(`The oracles disagree about /${path.join("/")}.`);
  return matching.toSorted((a, b) =>
    compareReadings(narrowestReading(a, path), narrowestReading(b, path)),
  )[0];
}

/**
 * How a pattern takes a path, segment by segment: 0 as static text, 1 as a mixed segment, 2 as a parameter, 3 as the
 * beginning of a wildcard, 4 as more of it. Of several ways the narrowest; `undefined` where there is none.
 */
function narrowestReading(
  [head, ...rest]: readonly Kind[],
  path: readonly string[],
): readonly number[] | undefined {
  if (head === undefined) return path.length === 0 ? [] : undefined;
  const [segment, ...others] = path;
  if (segment === undefined) return undefined;
  const after = (rank: number) => {
    const tail = narrowestReading(rest, others);
    return tail && [rank, ...tail];
  };
  switch (head) {
    case "mixed":
      return /^.+-b$/.test(segment) ? after(1) : undefined;
    case "parameter":
      return segment === "" ? undefined : after(2);
    case "wildcard": {
      if (segment === "") return undefined;
      return path
        .map((_, index) => {
          const tail = narrowestReading(rest, path.slice(index + 1));
          return tail && [3, ...Array.from({ length: index }, () => 4), ...tail];
        })
        .filter((one) => one !== undefined)
        .sort(compareReadings)[0];
    }
    default:
      return segment === head ? after(0) : undefined;
  }
}

function compareReadings(a: readonly number[] = [], b: readonly number[] = []): number {
  const index = a.findIndex((rank, place) => rank !== b[place]);
  return index < 0 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}
