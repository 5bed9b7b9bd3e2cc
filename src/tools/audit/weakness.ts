/** Routes whose rule requires less than one close to it, which is probably not what the author meant. */
import type { CompiledRule } from "../../core/policy/rule.ts";
import { alternativesOf, haveCommonRoute, type RouteCoverage } from "../../core/policy/route-coverage.ts";

/** Why a route counts as weak: its rule compared with the stronger ones. */
export interface Weakness {
  readonly kind: "changes" | "borrowed";
  /** The rule that decides. */
  readonly rule: CompiledRule;
  readonly stronger: readonly CompiledRule[];
}

/** A route with a rule. */
type Mapped = RouteCoverage & { readonly rule: CompiledRule };

const READING = new Set(["GET", "HEAD", "OPTIONS"]);
/** Without POST: a login, for example, is a POST to a path that only members may read. */
const CHANGING = new Set(["PUT", "PATCH", "DELETE"]);

/** Returns how much a rule requires: nothing, an optional token, a token, scopes. Scopes are not compared. */
export function strengthOf({ requirement }: CompiledRule): number {
  if (requirement.kind === "public") return 0;
  if (requirement.kind === "optional") return 1;
  return requirement.kind === "allOf" && requirement.scopes.length === 0 ? 2 : 3;
}

/**
 * Finds the weakness of a route that has a rule. The first case that applies counts:
 *
 * - `borrowed`: the route has no rule of its own, and another method of its pattern has a stronger one.
 *   Routes that read are compared only with methods that read, because reading often requires less.
 * - `changes`: PUT, PATCH or DELETE requires less than GET on the same pattern.
 */
export function findWeakness(route: RouteCoverage, all: readonly RouteCoverage[]): Weakness | undefined {
  return isMapped(route) ? findStrongerMethod(route, all.filter(isMapped)) : undefined;
}

const isMapped = (coverage: RouteCoverage): coverage is Mapped => coverage.rule !== undefined;

function findStrongerMethod(route: Mapped, all: readonly Mapped[]): Weakness | undefined {
  const kind = hasOwnRule(route) ? "changes" : "borrowed";
  const { method } = route.route;
  const counts = (other: Mapped): boolean =>
    kind === "changes"
      ? CHANGING.has(method) && other.route.method === "GET"
      : !READING.has(method) || READING.has(other.route.method);
  const stronger = all.filter(
    (other) =>
      counts(other) &&
      haveCommonRoute(route.alternatives, other.alternatives) &&
      strengthOf(other.rule) > strengthOf(route.rule),
  );
  const rules = [...new Set(stronger.map(({ rule }) => rule))];
  return rules.length === 0 ? undefined : { kind, rule: route.rule, stronger: rules };
}

/** Returns whether the rule that decides a route was written for its pattern, not for a wider one. */
export const hasOwnRule = ({ alternatives, rule }: RouteCoverage): boolean =>
  rule !== undefined && haveCommonRoute(alternatives, alternativesOf(rule));
