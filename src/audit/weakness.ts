/** Routes whose rule requires less than the rules around them, which is probably not what the author meant. */
import { type CompiledTable } from "../policy/compile-rules.ts";
import { findRouteRule } from "../policy/find-rules.ts";
import { identityOf, type PatternSegment } from "../policy/pattern.ts";
import { type CompiledRule } from "../policy/rule.ts";
import { alternativesOf, rankOf, type RouteCoverage } from "./coverage.ts";
import { covers, meet } from "./overlap.ts";

/** Why a route counts as weak: how its rule relates to the stronger ones. */
export interface Weakness {
  readonly kind: "outranked" | "changes" | "borrowed";
  /** The rule that decides. */
  readonly rule: CompiledRule;
  readonly stronger: readonly CompiledRule[];
}

/** A route with a rule. */
type Mapped = RouteCoverage & { readonly rule: CompiledRule };

const READING = new Set(["GET", "HEAD", "OPTIONS"]);
/** Without POST: a login posts to a path that only members may read. */
const CHANGING = new Set(["PUT", "PATCH", "DELETE"]);

/** How much a rule requires: nothing, an optional token, a token, scopes. Scopes are not compared with each other. */
export function strengthOf({ requirement }: CompiledRule): number {
  if (requirement.kind === "public") return 0;
  if (requirement.kind === "optional") return 1;
  return requirement.kind === "allOf" && requirement.scopes.length === 0 ? 2 : 3;
}

/**
 * Finds the weakness of a route that has a rule. The first case that applies counts:
 *
 * - `outranked`: a rule with a narrower path requires more, but an exact method comes before its `*`.
 * - `borrowed`: the route has no rule of its own, and the routes around it that the same wide rule would decide have
 *   stronger rules of their own: another method of its pattern, or most of the routes with the same parent. For a route
 *   that reads, only neighbours that read count: reading is often freer than writing.
 * - `changes`: PUT, PATCH or DELETE requires less than GET on the same pattern.
 */
export function findWeakness(
  table: CompiledTable,
  route: RouteCoverage,
  all: readonly RouteCoverage[],
): Weakness | undefined {
  if (!isMapped(route)) return undefined;
  const mapped = all.filter(isMapped);
  return (
    findOutranking(table, route) ??
    findStrongerNeighbours(route, mapped) ??
    findStrongerReading(route, mapped)
  );
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

function findStrongerReading(route: Mapped, all: readonly Mapped[]): Weakness | undefined {
  if (!CHANGING.has(route.route.method)) return undefined;
  const stronger = all
    .filter((other) => other.route.method === "GET" && isSamePattern(route, other))
    .filter((other) => strengthOf(other.rule) > strengthOf(route.rule));
  return toWeakness("changes", route, stronger);
}

function findStrongerNeighbours(route: Mapped, all: readonly Mapped[]): Weakness | undefined {
  if (hasOwnRule(route)) return undefined;
  const neighbours = all.filter(
    (other) => other !== route && isNear(route, other) && (!isReading(route) || isReading(other)),
  );
  const stronger = neighbours.filter(
    (other) =>
      strengthOf(other.rule) > strengthOf(route.rule) &&
      other.alternatives.every((one) => alternativesOf(route.rule).some((wide) => covers(wide, one))),
  );
  const isMost = stronger.length * 2 > neighbours.length;
  return isMost || stronger.some((other) => isSamePattern(route, other))
    ? toWeakness("borrowed", route, stronger)
    : undefined;
}

function toWeakness(
  kind: Weakness["kind"],
  { rule }: Mapped,
  stronger: readonly Mapped[],
): Weakness | undefined {
  const rules = [...new Set(stronger.map((other) => other.rule))];
  return rules.length === 0 ? undefined : { kind, rule, stronger: rules };
}

const isReading = ({ route }: Mapped): boolean => READING.has(route.method);

/** Whether the rule that decides a route was written for its pattern, and not for a wider one. */
export function hasOwnRule({ alternatives, rule }: RouteCoverage): boolean {
  const own = new Set(alternatives.map(identityOf));
  return rule !== undefined && alternativesOf(rule).some((alternative) => own.has(identityOf(alternative)));
}

const isSamePattern = (a: Mapped, b: Mapped): boolean => {
  const own = new Set(a.alternatives.map(identityOf));
  return b.alternatives.some((alternative) => own.has(identityOf(alternative)));
};

/** The same pattern, the parent, or another child of the parent. */
function isNear(route: Mapped, other: Mapped): boolean {
  const parents = new Set(route.alternatives.flatMap(parentsOf));
  return (
    isSamePattern(route, other) ||
    other.alternatives.some((one) => [identityOf(one), ...parentsOf(one)].some((place) => parents.has(place)))
  );
}

/** The parent of a pattern. None where it has only parameters: everything would be near everything. */
function parentsOf(alternative: readonly PatternSegment[]): readonly string[] {
  const parent = alternative.slice(0, -1);
  return parent.some(({ kind }) => kind === "static") ? [identityOf(parent)] : [];
}
