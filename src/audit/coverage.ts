/** Which rules of a table decide the requests of one route of an application. */
import { type Alternative, compareNarrowness, findFilling } from "../policy/containment.ts";
import { findMatchedRoute, withoutTrailingSlash } from "../policy/matched-route.ts";
import { overlaps } from "./overlap.ts";
import { type Pattern } from "../policy/pattern.ts";
import { type CompiledRule, methodsAsked } from "../policy/rule.ts";

/** A route of an application, as its framework registered it. */
export interface ListedRoute {
  /** Upper case, or `*` for every method. A `GET` route answers HEAD as well. */
  readonly method: string;
  /** The whole path in path-to-regexp's syntax, mount prefix included. */
  readonly pattern: string;
  /** Where it stands, if `protect` does not run in front of it. Left out: it does, or nobody knows. */
  readonly unguarded?: UnguardedPlace;
}

/** The place of a route that `protect` does not run in front of, as an audit reports it. */
export interface UnguardedPlace {
  /** What is said of the route: `is registered before protect.` */
  readonly message: string;
  /** What to write instead. */
  readonly hint: string;
}

/** A route with the rules that have to do with it. */
export interface RouteCoverage {
  readonly route: ListedRoute;
  readonly alternatives: readonly Alternative[];
  /** The methods that reach the route, each that some rule tells apart; `*` stands for all the others. */
  readonly methods: readonly string[];
  /** The rule that decides the whole route; absent where none covers it. */
  readonly rule: CompiledRule | undefined;
  /** Every rule that has a request in common with the route. */
  readonly touching: readonly CompiledRule[];
  /** Of those the ones that decide some request: the rule of the whole route, and rules for a part of it. */
  readonly deciding: readonly CompiledRule[];
}

export function createRouteCoverage(
  rules: readonly CompiledRule[],
  route: ListedRoute,
  pattern: Pattern,
): RouteCoverage {
  const alternatives = pattern.alternatives.map(withoutTrailingSlash);
  const methods = methodsOf(route.method, rules);
  const rule = findMatchedRoute(rules, route.method, route.pattern)?.compiled;
  const touching = rules.filter(
    (compiled) =>
      methods.some((method) => rankOf(compiled, method) >= 0) &&
      alternatives.some((alternative) => overlapsWith(compiled, alternative)),
  );
  const deciding = touching.filter(
    (one) => one === rule || decidesSome(one, alternatives, methods, touching),
  );
  return { route, alternatives, methods, rule, touching, deciding };
}

/** OPTIONS is asked of every path, whatever the route is for: the framework or CORS middleware answers. */
export function isReachedBy(compiled: CompiledRule, { alternatives, touching }: RouteCoverage): boolean {
  if (compiled.rule.method !== "OPTIONS") return touching.includes(compiled);
  return alternatives.some((alternative) => overlapsWith(compiled, alternative));
}

/** The alternatives of a rule, as they are compared with those of a route. */
export const alternativesOf = ({ pattern }: CompiledRule): readonly Alternative[] =>
  pattern.alternatives.map(withoutTrailingSlash);

export const containsPath = (compiled: CompiledRule, covered: Alternative): boolean =>
  alternativesOf(compiled).some((covering) => findFilling(covering, covered) !== undefined);

/** The place of a rule among those that a method asks: the lower one comes first; negative where it is not asked. */
export const rankOf = ({ rule }: CompiledRule, method: string): number =>
  methodsAsked(method).indexOf(rule.method);

const overlapsWith = (compiled: CompiledRule, alternative: Alternative): boolean =>
  alternativesOf(compiled).some((own) => overlaps(own, alternative));

function methodsOf(method: string, rules: readonly CompiledRule[]): readonly string[] {
  if (method === "*") return [...new Set([...rules.map(({ rule }) => rule.method), "*"])];
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

/** Whether some request of the route is left to a rule by every narrower one. */
function decidesSome(
  compiled: CompiledRule,
  alternatives: readonly Alternative[],
  methods: readonly string[],
  touching: readonly CompiledRule[],
): boolean {
  return methods.some((method) => {
    const rank = rankOf(compiled, method);
    const isBeaten = (own: Alternative, route: Alternative): boolean =>
      touching.some((other) => {
        const otherRank = rankOf(other, method);
        if (other === compiled || otherRank < 0 || otherRank > rank) return false;
        return alternativesOf(other).some(
          (covering) =>
            (findFilling(covering, route) ?? findFilling(covering, own)) !== undefined &&
            (otherRank < rank || compareNarrowness(covering, own) < 0),
        );
      });
    return (
      rank >= 0 &&
      alternatives.some((route) =>
        alternativesOf(compiled).some((own) => overlaps(own, route) && !isBeaten(own, route)),
      )
    );
  });
}
