/** Finds wider rules that decide requests beside a narrower rule, and require less than it. */
import { describeRule } from "../../core/policy/describe.ts";
import { findRouteRules } from "../../core/policy/find-rules.ts";
import { type CheckedTable, implies } from "../../core/policy/implication.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { commonPatterns, covers } from "../../core/policy/overlap.ts";
import type { PatternSegment } from "../../core/policy/pattern.ts";
import { renderPattern } from "../../core/policy/render-pattern.ts";
import { commonMethod, type CompiledRule } from "../../core/policy/rule.ts";
import { methodRank } from "../../core/policy/rule-order.ts";
import type { Leaf } from "../../core/policy/rule-tree.ts";
import { leavesInOrder, overlappingLeaves } from "../../core/policy/walk-tree.ts";
import { SERVES } from "./mounts.ts";
import type { AuditFinding } from "./report.ts";
import { classOf } from "./requirement-class.ts";

type Segments = readonly PatternSegment[];

/** A route, and the paths that it serves. */
export interface ServedRoute {
  readonly route: ListedRoute;
  readonly alternatives: readonly Segments[];
}

/** The methods that change something. Reading is often open where writing isn't. */
export const CHANGING: readonly string[] = ["POST", "PUT", "PATCH", "DELETE"];

const METHODS = ["GET", ...CHANGING];

const WILDCARD = { kind: "wildcard", name: "path" } as const;

/** The requests beside a rule that a wider rule may decide. */
interface Neighbourhood {
  readonly methods: readonly string[];
  readonly segments: Segments;
}

/** Requests beside a narrower rule that a wider rule decides. */
interface AffectedRequests {
  readonly wider: CompiledRule;
  readonly narrower: Leaf;
  readonly neighbourhood: Neighbourhood;
  readonly method: string;
  readonly segments: Segments;
}

/**
 * Finds each rule that decides requests beside a narrower rule, and doesn't imply it: another method of the
 * same path, the root of a subtree, or a path below. Without routes, an application may serve all of these.
 */
export function findWiderRules(
  table: CheckedTable,
  routes: readonly ServedRoute[] | undefined,
): readonly AuditFinding[] {
  const byWider = groupBy(findAffected(table, routes), ({ wider }) => wider);
  return [...byWider].map(([wider, affected]) => widerFinding(table, wider, affected, routes !== undefined));
}

function* findAffected(table: CheckedTable, routes: readonly ServedRoute[] | undefined) {
  for (const narrower of leavesInOrder(table.tree.root)) {
    if (classOf(narrower.compiled.requirement) === "nothing") continue;
    for (const neighbourhood of neighbourhoodsOf(narrower))
      for (const method of neighbourhood.methods)
        for (const segments of servedParts(routes, method, neighbourhood.segments)) {
          const requests = { method, segments };
          const [wider] = findRouteRules(table.tree, method, segments);
          if (!wider || !decidesWithLess(table, wider, narrower, requests, neighbourhood)) continue;
          yield { wider: wider.compiled, narrower, neighbourhood, ...requests };
        }
  }
}

function neighbourhoodsOf({ compiled, segments }: Leaf): readonly Neighbourhood[] {
  const { method } = compiled.rule;
  const methods = method === "*" ? METHODS : [method];
  if (segments.at(-1)?.kind === "wildcard") return [{ methods, segments: segments.slice(0, -1) }];
  const otherMethods = CHANGING.filter((each) => each !== method);
  // Below `/`, there are all other paths.
  const below = segments.length === 0 ? [] : [{ methods, segments: [...segments, WILDCARD] }];
  return [{ methods: otherMethods, segments }, ...below];
}

/** Returns the parts of the paths that an application serves; all of them if its routes aren't known. */
function servedParts(
  routes: readonly ServedRoute[] | undefined,
  method: string,
  segments: Segments,
): readonly Segments[] {
  if (!routes) return [segments];
  const isBelow = segments.at(-1)?.kind === "wildcard";
  return routes
    .filter(({ route }) => [method, "*"].includes(route.method) || route.serves === SERVES.page)
    .flatMap(({ alternatives }) => alternatives)
    .filter((path) => !isBelow || !endsAbove(path, segments.length - 1))
    .flatMap((path) => commonPatterns(segments, path));
}

/** A folder of files, such as `/docs/*path`, doesn't show that there are paths below `/docs/a.json`. */
function endsAbove(path: Segments, depth: number): boolean {
  const wildcard = path.findIndex(({ kind }) => kind === "wildcard");
  return wildcard >= 0 && wildcard < depth;
}

function decidesWithLess(
  table: CheckedTable,
  wider: Leaf,
  narrower: Leaf,
  requests: { readonly method: string; readonly segments: Segments },
  neighbourhood: Neighbourhood,
): boolean {
  if (wider.compiled === narrower.compiled || impliesWithAlso(table, wider, narrower, requests)) return false;
  // A rule that was written for these requests isn't a wider one.
  if (!covers(neighbourhood.segments, wider.segments)) return true;
  // At the same path, `*` may require other scopes than a rule for one method, but hardly ever less than GET.
  const isSamePath = wider.identity === narrower.identity;
  const isAllBesideGet = wider.compiled.rule.method === "*" && narrower.compiled.rule.method === "GET";
  return isSamePath && isAllBesideGet && impliesWithAlso(table, narrower, wider, requests);
}

/** The `also` of a rule doesn't apply beside the rule, so the wider rule must require it as well. */
function impliesWithAlso(
  table: CheckedTable,
  deciding: Leaf,
  other: Leaf,
  requests: { readonly method: string; readonly segments: Segments },
): boolean {
  const { compiled, segments } = other;
  const requirements = [compiled.requirement, ...(compiled.conditions ? [compiled.conditions.also] : [])];
  return requirements.every((requirement) =>
    implies(deciding, { compiled: { ...compiled, requirement }, segments }, requests, table),
  );
}

const requiresScopes = ({ requirement, conditions }: CompiledRule): boolean =>
  classOf(requirement) === "scopes" || (conditions?.also.scopes.length ?? 0) > 0;

function widerFinding(
  table: CheckedTable,
  wider: CompiledRule,
  affected: readonly AffectedRequests[],
  hasRoutes: boolean,
): AuditFinding {
  const byNarrower = groupBy(affected, ({ narrower }) => narrower.compiled);
  const parts = [...byNarrower].map(
    ([narrower, requests]) =>
      `${renderRequests(requests)} (\`${narrower.rule.key}\` requires ${describeRule(narrower)})`,
  );
  // Without routes, a wider rule that requires scopes is probably meant for what is left.
  const isMeantForTheRest = !hasRoutes && requiresScopes(wider);
  return {
    kind: "wider_rule_weaker",
    severity: isMeantForTheRest ? "note" : "warning",
    rule: wider.rule,
    rules: Object.freeze([...byNarrower.keys()].map(({ rule }) => rule)),
    message: `\`${wider.rule.key}\` requires ${describeRule(wider)}. It also decides ${parts.join(", ")}.`,
    hint: adviceFor(table, [...byNarrower.values()]),
  };
}

/** Names the rules to add beside the first narrower rule. */
function adviceFor(table: CheckedTable, [first = [], ...others]: readonly AffectedRequests[][]): string {
  const keys: string[] = [];
  let areEnough = true;
  for (const [{ segments }, requests] of groupBy(first, ({ neighbourhood }) => neighbourhood)) {
    const { narrower } = requests[0];
    // A rule for HEAD must require what GET of the path requires, and that rule decides both.
    const methods = new Set(requests.map(({ method }) => (method === "HEAD" ? "GET" : method)));
    const isForAll = methods.size > 1 && isOrderTotalWith(table, "*", segments, narrower);
    for (const method of isForAll ? ["*"] : methods) {
      keys.push(`\`${method} ${renderPattern({ segments, hasSlash: false })}\``);
      areEnough &&= isOrderTotalWith(table, method, segments, narrower);
    }
  }
  const forOthers = others.length === 0 ? "" : " Add rules for the other requests in the same way.";
  const atStart = " Then start the server. If rules are still missing, its error names them.";
  return `Add ${keys.join(", ")} with what these requests require.${forOthers}${areEnough ? "" : atStart}`;
}

/**
 * Returns whether the order of a table stays total with one more rule, which requires what `narrower`
 * requires (see `rule-order.ts`); `false` if that isn't certain.
 */
function isOrderTotalWith(table: CheckedTable, method: string, segments: Segments, narrower: Leaf): boolean {
  const added = { compiled: { ...narrower.compiled, rule: { ...narrower.compiled.rule, method } }, segments };
  for (const leaf of overlappingLeaves(table.tree.root, segments)) {
    const common = commonMethod(added.compiled, leaf.compiled);
    const [pattern] = commonPatterns(segments, leaf.segments);
    if (common === undefined || !pattern) continue;
    const requests = { method: common, segments: pattern };
    const isInside = covers(leaf.segments, segments);
    const isOutside = covers(segments, leaf.segments);
    if (isInside && isOutside && leaf.compiled.rule.method === method) return false;
    const addedRank = methodRank(added.compiled, common);
    const leafRank = methodRank(leaf.compiled, common);
    if (isInside && addedRank <= leafRank) continue;
    // A rule for HEAD must imply the rule for GET.
    if (isOutside && leafRank <= addedRank && leaf.compiled.rule.method !== "HEAD") continue;
    if ((isInside || !isOutside) && !implies(added, leaf, requests, table)) return false;
    if ((isOutside || !isInside) && !implies(leaf, added, requests, table)) return false;
  }
  return true;
}

/** Renders requests of one path together: `POST|PUT /agents`. */
function renderRequests(affected: readonly AffectedRequests[]): string {
  const byPath = groupBy(affected, ({ segments }) => renderPattern({ segments, hasSlash: false }));
  const paths = [...byPath].map(([path, requests]) => {
    const methods = new Set(requests.map(({ method }) => method));
    const isForAll = METHODS.every((method) => methods.has(method));
    return `\`${isForAll ? "*" : [...methods].join("|")} ${path}\``;
  });
  return paths.join(", ");
}

function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key) {
  const groups = new Map<Key, [Item, ...Item[]]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
