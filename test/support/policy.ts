/** Tables and callers for the tests of the policy. */
import { CONDITION_LANGUAGE } from "../../src/capabilities/conditions/language.ts";
import { ConfigurationError, type ConfigurationIssue, type Report } from "../../src/core/errors.ts";
import { createBatchRules } from "../../src/capabilities/batches/rules.ts";
import { createLanguage } from "../../src/capabilities/mcp-operations/language.ts";
import { MCP_METHODS } from "../../src/capabilities/mcp-operations/operation-methods.ts";
import {
  type OperationRules,
  operationRulesOf,
} from "../../src/capabilities/mcp-operations/operation-rules.ts";
import { compileRules } from "../../src/core/policy/compile-rules.ts";
import type { Pattern, PatternSegment } from "../../src/core/policy/pattern.ts";
import { isPattern, parsePattern } from "../../src/core/policy/parse-pattern.ts";
import {
  ComparablePath,
  comparableRoute,
  type RouteComparison,
} from "../../src/core/policy/route-comparison.ts";
import type { Requirement } from "../../src/core/policy/requirement.ts";
import type { ScopeMappings } from "../../src/core/policy/scope-mappings.ts";
import type { CompiledRule, RuleMatch } from "../../src/core/policy/rule.ts";
import type { Governing } from "../../src/core/policy/governing.ts";
import { Table } from "../../src/core/policy/table.ts";
import { readPath, type Path } from "../../src/core/request.ts";
import { compareParts, type SegmentPart, Spelled, spellParts } from "../../src/core/policy/segment.ts";
import type { ScopeRules } from "../../src/core/scopes/granted-scopes.ts";
import { resolveScopeRules } from "../../src/core/scopes/scope-rules.ts";
import { createPrincipal, type Principal } from "../../src/core/token/principal.ts";

/** How often a property is tried. The seed is fixed, so that a run can be repeated. */
export const PROPERTY = { numRuns: 200, seed: 6749 } as const;

/** Runs something that reports, and returns its result and every mistake. */
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
): readonly ConfigurationIssue[] => reporting((report) => compile(customs, defaults, report)).issues;

const compile = (customs: ScopeMappings, defaults: ScopeMappings, report: Report) =>
  compileRules(defaults, customs, report, {
    conditions: CONDITION_LANGUAGE,
    language: createLanguage({ methods: MCP_METHODS }),
  });

/** A compiled table; throws where it holds mistakes. */
export function compiledOf(customs: ScopeMappings, defaults: ScopeMappings = {}) {
  const { value, issues } = reporting((report) => compile(customs, defaults, report));
  if (issues.length > 0) throw new ConfigurationError(issues);
  return { ...value, batches: createBatchRules(), scopeRules: SCOPE_RULES };
}

export const rulesOf = (customs: ScopeMappings, defaults: ScopeMappings = {}): readonly CompiledRule[] =>
  compiledOf(customs, defaults).rules;

export const tableOf = (customs: ScopeMappings, defaults: ScopeMappings = {}): Table => {
  const compiled = compiledOf(customs, defaults);
  return new Table(compiled, compiled.batches);
};

/** The rules of a table for operations. */
export function operationsIn(customs: ScopeMappings, defaults: ScopeMappings = {}): OperationRules {
  const rules = operationRulesOf(compiledOf(customs, defaults));
  if (!rules) throw new Error("The table has no rules for operations.");
  return rules;
}

/** What a table answers for a request, with the route that the router matched where there is one. */
export function governingOf(table: Table, method: string, target: string, ...routes: string[]): Governing {
  const governing = table.forTarget(method, target, true);
  return routes.length === 0 ? governing : table.forRoute(governing, method, routes);
}

/** The keys of the rules that a request must satisfy, `"unmapped"` or `"ambiguous"`. */
export const keysOf = (governing: Governing): readonly string[] | string =>
  governing.kind === "rules" ? governing.matches.map(({ compiled }) => compiled.rule.key) : governing.kind;

/** The key of the one rule that decides, `"unmapped"` or `"ambiguous"`; of several rules all of their keys. */
export function keyOf(table: Table, method: string, target: string, ...routes: string[]): string {
  const keys = keysOf(governingOf(table, method, target, ...routes));
  return typeof keys === "string" ? keys : keys.join(" and ");
}

/** The rules and parameters for a request; throws where the table refuses it. */
export function matchesOf(
  table: Table,
  method: string,
  target: string,
  ...routes: string[]
): readonly RuleMatch[] {
  const governing = governingOf(table, method, target, ...routes);
  if (governing.kind !== "rules") throw new Error(`${method} ${target} is ${governing.kind}.`);
  return governing.matches;
}

/** The rule and the parameters for a request; throws where not exactly one rule decides. */
export function matchOf(table: Table, method: string, target: string, ...routes: string[]): RuleMatch {
  const [match, ...others] = matchesOf(table, method, target, ...routes);
  if (!match || others.length > 0) throw new Error(`${method} ${target} has several rules.`);
  return match;
}

/** A pattern that must be right. */
export function patternOf(source: string): Pattern {
  const parsed = parsePattern(source);
  if (!isPattern(parsed)) throw new Error(`${source} ${parsed.message}`);
  return parsed;
}

/** The segments of a pattern without optional groups. */
export function segmentsIn(source: string): Pattern["alternatives"][number]["segments"] {
  const [alternative, ...others] = patternOf(source).alternatives;
  if (!alternative || others.length > 0) throw new Error(`${source} has several alternatives.`);
  return alternative.segments;
}

/** A path that must be readable. */
export function pathOf(target: string): Path {
  const path = readPath(target);
  if (!path) throw new Error(`${target} is not a readable target.`);
  return path;
}

/** How scopes cover others; throws where the hierarchy is wrong. */
export function scopeRulesOf(
  impliedScopes: Readonly<Record<string, readonly string[]>> = {},
  adminScope: string | null = null,
): ScopeRules {
  const { value, issues } = reporting((report) => resolveScopeRules(adminScope, impliedScopes, report));
  if (issues.length > 0) throw new ConfigurationError(issues);
  return value;
}

/** How scopes cover others by default. */
export const SCOPE_RULES = scopeRulesOf();

/** How scopes cover others if `platform:admin` implies all of them. */
export const ADMIN_RULES = scopeRulesOf({}, "platform:admin");

export const callerWith = (...scopes: readonly string[]): Principal =>
  createPrincipal({ scopes, audience: [], claims: {} }, SCOPE_RULES);

/** Every object that can be reached from a value, itself included. */
function objectsIn(value: unknown, objects = new Set<object>()): ReadonlySet<object> {
  if (typeof value !== "object" || value === null || objects.has(value)) return objects;
  objects.add(value);
  for (const part of Object.values(value) as unknown[]) objectsIn(part, objects);
  return objects;
}

/** The objects in a value that are not frozen, the value itself included. */
export const changeable = (value: unknown): readonly object[] =>
  [...objectsIn(value)].filter((object) => !Object.isFrozen(object));

/** A table of `GET` rules with the same requirement. */
export const getTable = (
  sources: readonly string[],
  requirement: Requirement = "public",
): Record<string, Requirement> => Object.fromEntries(sources.map((source) => [`GET ${source}`, requirement]));

/** Compares one path with one route. */
export const compareWithRoute = (path: Path, route: readonly PatternSegment[]): RouteComparison =>
  new ComparablePath(path).compareWith(comparableRoute(route));

/** Compares one segment of a path with the parts of one pattern. */
export const spellingOf = (segment: string, parts: readonly SegmentPart[]) =>
  compareParts(new Spelled(segment), spellParts(parts));
