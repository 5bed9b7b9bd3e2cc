/** Routes whose rule asks for less than the rules around them: most likely nobody wrote the one that was meant. */
import { type Alternative, compareNarrowness, findFilling } from "../policy/containment.ts";
import { overlaps } from "./overlap.ts";
import { segmentIdentity } from "../policy/pattern.ts";
import { alternativesOf, containsPath, rankOf, type RouteCoverage } from "./coverage.ts";
import { type CompiledRule } from "../policy/rule.ts";

/** Why a route counts as weak: what its rule is to the stronger ones. */
export interface Weakness {
  readonly kind: "outranked" | "changes" | "borrowed";
  /** The rule that decides. */
  readonly rule: CompiledRule;
  readonly stronger: readonly CompiledRule[];
}

/** A route with a rule. */
type Mapped = RouteCoverage & { readonly rule: CompiledRule };

const READING = new Set(["GET", "HEAD", "OPTIONS"]);
/** POST is not among them: logging in and signing up post to what only members may read. */
const CHANGING = new Set(["PUT", "PATCH", "DELETE"]);

/** How much a rule asks for: nothing, a good token or none, a good token, scopes. Scopes are not weighed against each other. */
export function strengthOf({ requirement }: CompiledRule): number {
  if (requirement.kind === "public") return 0;
  if (requirement.kind === "optional") return 1;
  return requirement.kind === "allOf" && requirement.scopes.length === 0 ? 2 : 3;
}

/**
 * Finds the weakness of a route that has a rule. Three cases, of which the first that applies counts:
 *
 * - `outranked`: a rule with a narrower path asks for more, but not of this method: an exact method comes before `*`.
 * - `borrowed`: the route has no rule of its own, and neighbours that the same wide rule would decide have stronger ones
 *   of their own: another method of its pattern, or most of the routes around it (its parent, and what shares a parent with
 *   some static text). For a route that reads only neighbours that read count: reading is often freer than writing.
 * - `changes`: PUT, PATCH or DELETE asks for less than GET on the same pattern.
 */
export function findWeakness(route: RouteCoverage, all: readonly RouteCoverage[]): Weakness | undefined {
  if (!isMapped(route)) return undefined;
  const mapped = all.filter(isMapped);
  return findOutranking(route) ?? findStrongerNeighbours(route, mapped) ?? findStrongerReading(route, mapped);
}

const isMapped = (coverage: RouteCoverage): coverage is Mapped => coverage.rule !== undefined;

function findOutranking({ methods, touching, alternatives }: Mapped): Weakness | undefined {
  for (const method of methods) {
    for (const outranked of touching) {
      for (const own of alternativesOf(outranked)) {
        for (const route of alternatives.filter((one) => overlaps(one, own))) {
          const first = findPreceding(touching, method, rankOf(outranked, method), [own, route]);
          const isWider = first !== undefined && compareNarrowness(own, first.covering) < 0;
          if (isWider && strengthOf(first.rule) < strengthOf(outranked))
            return { kind: "outranked", rule: first.rule, stronger: [outranked] };
        }
      }
    }
  }
  return undefined;
}

/** The rule that decides one of the places because its method comes before that of a rank. */
function findPreceding(
  touching: readonly CompiledRule[],
  method: string,
  rank: number,
  places: readonly Alternative[],
): { readonly rule: CompiledRule; readonly covering: Alternative } | undefined {
  return touching
    .map((rule) => ({ rule, place: rankOf(rule, method) }))
    .filter(({ place }) => place >= 0 && place < rank)
    .flatMap(({ rule, place }) =>
      alternativesOf(rule)
        .filter((covering) => places.some((covered) => findFilling(covering, covered) !== undefined))
        .map((covering) => ({ rule, place, covering })),
    )
    .sort((a, b) => a.place - b.place || compareNarrowness(a.covering, b.covering))[0];
}

function findStrongerReading(route: Mapped, all: readonly Mapped[]): Weakness | undefined {
  if (!CHANGING.has(route.route.method)) return undefined;
  const stronger = all
    .filter((other) => other.route.method === "GET" && isSamePattern(route, other))
    .filter((other) => strengthOf(other.rule) > strengthOf(route.rule));
  return weaknessBeside("changes", route, stronger);
}

function findStrongerNeighbours(route: Mapped, all: readonly Mapped[]): Weakness | undefined {
  if (hasOwnRule(route)) return undefined;
  const neighbours = all.filter(
    (other) => other !== route && isNear(route, other) && (!isReading(route) || isReading(other)),
  );
  const stronger = neighbours.filter(
    (other) =>
      strengthOf(other.rule) > strengthOf(route.rule) &&
      other.alternatives.every((path) => containsPath(route.rule, path)),
  );
  const isAlone = stronger.length * 2 <= neighbours.length;
  return isAlone && !stronger.some((other) => isSamePattern(route, other))
    ? undefined
    : weaknessBeside("borrowed", route, stronger);
}

function weaknessBeside(
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

/** What a path stands under. Where that is parameters only, everything would be near everything. */
function parentsOf(alternative: Alternative): readonly string[] {
  const parent = alternative.slice(0, -1);
  return parent.some(({ kind }) => kind === "static") ? [identityOf(parent)] : [];
}

const identityOf = (alternative: Alternative): string =>
  alternative.map((segment) => `/${segmentIdentity(segment)}`).join("");
