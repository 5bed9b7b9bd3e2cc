/** Routes whose rule requires less than one close to it, which is probably not what the author meant. */
import { type CompiledTable } from "../policy/compile-rules.ts";
import { findRouteRule } from "../policy/find-rules.ts";
import { type CompiledRule } from "../policy/rule.ts";
import { alternativesOf, haveCommonRoute, rankOf, type RouteCoverage } from "./coverage.ts";
import { covers, meet } from "./overlap.ts";

/** Why a route counts as weak: its rule compared with the stronger ones. */
export interface Weakness {
  readonly kind: "outranked" | "changes" | "borrowed";
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
 * - `outranked`: a rule with a narrower path requires more, but an exact method has priority over its `*`.
 * - `borrowed`: the route has no rule of its own, and another method of its pattern has a stronger one.
 *   Routes that read are compared only with methods that read, because reading often requires less.
 * - `changes`: PUT, PATCH or DELETE requires less than GET on the same pattern.
 */
export function findWeakness(
  table: CompiledTable,
  route: RouteCoverage,
  all: readonly RouteCoverage[],
): Weakness | undefined {
  if (!isMapped(route)) return undefined;
  return findOutranking(table, route) ?? findStrongerMethod(route, all.filter(isMapped));
}

const isMapped = (coverage: RouteCoverage): coverage is Mapped => coverage.rule !== undefined;

function findOutranking({ tree }: CompiledTable, route: Mapped): Weakness | undefined {
  for (const method of route.methods) {
    for (const outranked of route.touching) {
      for (const own of alternativesOf(outranked)) {
        const common = route.alternatives.map((one) => meet(own, one)).find((one) => one !== undefined);
        const rule = common && findRouteRule(tree, method, common)?.compiled;
        if (!rule || rankOf(outranked, method) < 0 || rankOf(rule, method) >= rankOf(outranked, method))
          continue;
        const isWider = alternativesOf(rule).some((wide) => covers(wide, own) && !covers(own, wide));
        if (isWider && strengthOf(rule) < strengthOf(outranked))
          return { kind: "outranked", rule, stronger: [outranked] };
      }
    }
  }
  return undefined;
}

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
