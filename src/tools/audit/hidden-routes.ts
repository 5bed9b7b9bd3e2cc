/** Finds routes that may never run, because the framework runs the first route that matches a request. */
import { covers } from "../../core/policy/overlap.ts";
import { identityOf, type PatternSegment } from "../../core/policy/pattern.ts";
import { parseRoutePattern } from "../../core/policy/route-comparison.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { type AuditFinding, renderRoute } from "./report.ts";

/** The position of a route in an application whose framework runs the first match. */
interface Position {
  /** The same object for all routes of one list. */
  readonly list: object;
  readonly index: number;
  /** Whether a regular expression lets the route match fewer paths than its pattern. */
  readonly isPartial: boolean;
}

/** Routes may be spread into other arrays, and filtered, before they are audited. */
const positions = new WeakMap<ListedRoute, Position>();

/** Records the order in which a framework tries routes. Without it, a route is never reported as hidden. */
export const recordPosition = (route: ListedRoute, position: Position): void => {
  positions.set(route, position);
};

interface PlacedRoute extends Position {
  readonly route: ListedRoute;
  readonly alternatives: readonly (readonly PatternSegment[])[];
}

/**
 * Finds routes that an earlier, wider route hides. Two routes with the same pattern aren't reported, because
 * the first one often calls `next`. Routes after a wildcard route for all methods aren't reported either,
 * because that route is often middleware.
 */
export function findHidden(routes: Iterable<ListedRoute>): readonly AuditFinding[] {
  const placedRoutes = [...routes].flatMap((route): readonly PlacedRoute[] => {
    const position = positions.get(route);
    const pattern = position && parseRoutePattern(route.pattern);
    if (!pattern) return [];
    const alternatives = pattern.alternatives.map(({ segments }) => segments);
    return [{ ...position, route, alternatives }];
  });
  return placedRoutes.flatMap((later) => {
    const hiding = placedRoutes.find((earlier) => hides(earlier, later));
    return hiding ? [hiddenFinding(later.route, hiding.route)] : [];
  });
}

/** Returns whether the earlier route, whose pattern is wider, matches every request of the later route. */
function hides(earlier: PlacedRoute, later: PlacedRoute): boolean {
  if (earlier.list !== later.list || earlier.index >= later.index || earlier.isPartial) return false;
  const hasEveryMethod = earlier.route.method === "*";
  if (!hasEveryMethod && earlier.route.method !== later.route.method) return false;
  if (hasEveryMethod && earlier.alternatives.flat().some(({ kind }) => kind === "wildcard")) return false;
  return later.alternatives.every((narrow) =>
    earlier.alternatives.some((wide) => covers(wide, narrow) && identityOf(wide) !== identityOf(narrow)),
  );
}

const hiddenFinding = (route: ListedRoute, earlier: ListedRoute): AuditFinding => ({
  kind: "route_hidden",
  severity: "warning",
  route,
  message: `\`${renderRoute(route)}\` is registered after \`${renderRoute(earlier)}\`, which runs for the same requests: such a request needs the scopes of both rules.`,
  hint: `Register \`${renderRoute(route)}\` first. If the handler of \`${renderRoute(earlier)}\` calls next for these requests, there's nothing to do.`,
});
