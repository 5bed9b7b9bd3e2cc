/** Which rules of a table decide the requests of one route of an application. */
import type { CompiledTable } from "../../core/policy/compile-rules.ts";
import { findRouteRules } from "../../core/policy/find-rules.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { identityOf, type Pattern, type PatternSegment } from "../../core/policy/pattern.ts";
import { appliesTo, type CompiledRule } from "../../core/policy/rule.ts";
import { commonPatterns } from "../../core/policy/overlap.ts";

type Alternatives = readonly (readonly PatternSegment[])[];

/** A route with the rules that concern it. */
export interface RouteCoverage {
  readonly route: ListedRoute;
  readonly alternatives: Alternatives;
  /** Those that no rule covers. */
  readonly uncovered: Alternatives;
  /** The rule for the whole route, or for its first alternative if each has one; else absent. */
  readonly rule: CompiledRule | undefined;
  /** Every rule that matches some request of the route, even if a narrower rule decides it. */
  readonly touching: readonly CompiledRule[];
  /** The rules that decide some request of the route. */
  readonly deciding: readonly CompiledRule[];
}

export function createRouteCoverage(
  table: CompiledTable,
  route: ListedRoute,
  pattern: Pattern,
): RouteCoverage {
  const alternatives = alternativesOf({ pattern });
  const methods = methodsOf(route.method, table.rules);
  const covering = alternatives.map((path) => findRouteRules(table.tree, route.method, path)[0]?.compiled);
  const uncovered = alternatives.filter((_, index) => covering[index] === undefined);
  const rule = uncovered.length > 0 ? undefined : covering[0];
  const touching = table.rules.filter(
    (compiled) =>
      methods.some((method) => appliesTo(compiled.rule, method)) &&
      commonPaths(alternativesOf(compiled), alternatives).length > 0,
  );
  const decides = (decider: CompiledRule, path: readonly PatternSegment[]): boolean =>
    methods.some((method) => findRouteRules(table.tree, method, path)[0]?.compiled === decider);
  const deciding = touching.filter((compiled) =>
    commonPaths(alternativesOf(compiled), alternatives).some((path) => decides(compiled, path)),
  );
  return { route, alternatives, uncovered, rule, touching, deciding };
}

/** OPTIONS reaches every path, because the framework or CORS middleware responds to it. */
export function isReachedBy(compiled: CompiledRule, { alternatives, touching }: RouteCoverage): boolean {
  if (compiled.rule.method !== "OPTIONS") return touching.includes(compiled);
  return commonPaths(alternativesOf(compiled), alternatives).length > 0;
}

export const alternativesOf = ({ pattern }: Pick<CompiledRule, "pattern">): Alternatives =>
  pattern.alternatives.map(({ segments }) => segments);

/** Returns whether some alternatives are the same route. Two keys of a table for them would be an error. */
export function haveCommonRoute(some: Alternatives, others: Alternatives): boolean {
  const identities = new Set(some.map(identityOf));
  return others.some((alternative) => identities.has(identityOf(alternative)));
}

/** Returns the patterns of the paths that match some alternative of both. */
const commonPaths = (some: Alternatives, others: Alternatives): Alternatives =>
  some.flatMap((path) => others.flatMap((other) => commonPatterns(path, other)));

/** Returns the methods of a route that some rule names; `*` stands for all others. */
function methodsOf(method: string, rules: readonly CompiledRule[]): readonly string[] {
  if (method === "*") return [...new Set([...rules.map(({ rule }) => rule.method), "*"])];
  return method === "GET" ? ["GET", "HEAD"] : [method];
}
