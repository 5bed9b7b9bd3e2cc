/** Which rules of a table decide the requests of one route of an application. */
import { findRouteRule } from "../../core/policy/find-rules.ts";
import { identityOf, type Pattern, type PatternSegment } from "../../core/policy/pattern.ts";
import { appliesTo, type CompiledRule } from "../../core/policy/rule.ts";
import { type CompiledTable } from "../../core/policy/compile-rules.ts";
import { commonPatterns } from "../../core/policy/overlap.ts";

/** A route of an application, as its framework registered it. */
export interface ListedRoute {
  /** Upper case, or `*` for every method. A `GET` route answers HEAD as well. */
  readonly method: string;
  /** The whole path in path-to-regexp's syntax, including mount prefixes. */
  readonly pattern: string;
  /** The names of the arguments of an MCP operation. Omitted if they are not known. */
  readonly parameters?: readonly string[];
  /** Why `protect` does not run in front of the route. Omitted if it does, or if that is not known. */
  readonly unguarded?: UnguardedPlace;
}

/** Why a route is unguarded, as an audit reports it. */
export interface UnguardedPlace {
  /** The mistake, such as `is registered before protect.` */
  readonly message: string;
  /** What to write instead. */
  readonly hint: string;
  /** Whether there may be a guard that `routesOf` cannot find. */
  readonly isUncertain?: true;
}

type Alternatives = readonly (readonly PatternSegment[])[];

/** A route with the rules that concern it. */
export interface RouteCoverage {
  readonly route: ListedRoute;
  readonly alternatives: Alternatives;
  /** The methods of the route that some rule names; `*` stands for all others. */
  readonly methods: readonly string[];
  /** The rule of the whole route, or of its first alternative if each has one; else absent. */
  readonly rule: CompiledRule | undefined;
  /** Every rule that would apply to some request of the route without the narrower rules. */
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
  const covering = alternatives.map((one) => findRouteRule(table.tree, route.method, one)?.compiled);
  const rule = covering.includes(undefined) ? undefined : covering[0];
  const touching = table.rules.filter(
    (compiled) =>
      methods.some((method) => appliesTo(compiled.rule, method)) &&
      alternatives.some((alternative) => overlapsWith(compiled, alternative)),
  );
  const deciding = touching.filter((one) =>
    alternativesOf(one).some((own) =>
      alternatives.some((alternative) =>
        commonPatterns(own, alternative).some((common) =>
          methods.some((method) => findRouteRule(table.tree, method, common)?.compiled === one),
        ),
      ),
    ),
  );
  return { route, alternatives, methods, rule, touching, deciding };
}

/** OPTIONS reaches every path, whatever its routes' methods: the framework or CORS middleware answers it. */
export function isReachedBy(compiled: CompiledRule, { alternatives, touching }: RouteCoverage): boolean {
  if (compiled.rule.method !== "OPTIONS") return touching.includes(compiled);
  return alternatives.some((alternative) => overlapsWith(compiled, alternative));
}

/** Returns the alternatives of a rule. */
export const alternativesOf = ({ pattern }: Pick<CompiledRule, "pattern">): Alternatives =>
  pattern.alternatives.map(({ segments }) => segments);

/** Returns whether some alternatives are the same route: as two keys of a table, they would be an error. */
export function haveCommonRoute(some: Alternatives, others: Alternatives): boolean {
  const identities = new Set(some.map(identityOf));
  return others.some((alternative) => identities.has(identityOf(alternative)));
}

const overlapsWith = (compiled: CompiledRule, alternative: readonly PatternSegment[]): boolean =>
  alternativesOf(compiled).some((own) => commonPatterns(own, alternative).length > 0);

function methodsOf(method: string, rules: readonly CompiledRule[]): readonly string[] {
  if (method === "*") return [...new Set([...rules.map(({ rule }) => rule.method), "*"])];
  return method === "GET" ? ["GET", "HEAD"] : [method];
}
