/** Finds what falls to a wider rule that requires less than the narrower rule beside it. */
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

/** What falls to one wide rule, by the narrower rule beside it. */
type Fallen = Map<CompiledRule, FallenRequests>;

interface FallenRequests {
  /** The requests as the message shows them. */
  readonly shown: Set<string>;
  /** The rules to add: the methods of each neighbourhood. */
  readonly missing: Map<Neighbourhood, Missing>;
}

interface Missing {
  readonly beside: Leaf;
  readonly methods: Set<string>;
}

/**
 * Finds each rule that decides requests beside a narrower rule, and doesn't imply it: another method of the
 * same path, the root of a subtree, or a path below. Without routes, an application may serve all of these.
 */
export function findWiderRules(
  table: CheckedTable,
  routes: readonly ServedRoute[] | undefined,
): readonly AuditFinding[] {
  const fallenByRule = new Map<CompiledRule, Fallen>();
  for (const beside of leavesInOrder(table.tree.root)) {
    if (classOf(beside.compiled.requirement) === "nothing") continue;
    for (const neighbourhood of neighbourhoodsOf(beside))
      for (const method of neighbourhood.methods)
        for (const segments of servedParts(routes, method, neighbourhood.segments)) {
          const wide = findRouteRules(table.tree, method, segments)[0];
          if (!wide || !decidesWithLess(table, wide, beside, { method, segments }, neighbourhood)) continue;
          const fallen: Fallen = fallenByRule.get(wide.compiled) ?? new Map<CompiledRule, FallenRequests>();
          const requests: FallenRequests = fallen.get(beside.compiled) ?? {
            shown: new Set(),
            missing: new Map<Neighbourhood, Missing>(),
          };
          requests.shown.add(`${method} ${renderPattern({ segments, hasSlash: false })}`);
          const missing: Missing = requests.missing.get(neighbourhood) ?? { beside, methods: new Set() };
          // A rule for HEAD must require what GET of the path requires, and that rule decides both.
          missing.methods.add(method === "HEAD" ? "GET" : method);
          requests.missing.set(neighbourhood, missing);
          fallenByRule.set(wide.compiled, fallen.set(beside.compiled, requests));
        }
  }
  return [...fallenByRule].map(([wide, fallen]) => widerFinding(table, wide, fallen, routes !== undefined));
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
  wide: Leaf,
  beside: Leaf,
  requests: { readonly method: string; readonly segments: Segments },
  neighbourhood: Neighbourhood,
): boolean {
  if (wide.compiled === beside.compiled || impliesWithAlso(table, wide, beside, requests)) return false;
  // A rule that was written for these requests isn't a wider one.
  if (!covers(neighbourhood.segments, wide.segments)) return true;
  // At the same path, `*` may require other scopes than a rule for one method, but hardly ever less than GET.
  const methods = [wide, beside].map(({ compiled }) => compiled.rule.method).join(" ");
  return (
    wide.identity === beside.identity && methods === "* GET" && impliesWithAlso(table, beside, wide, requests)
  );
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

/** Without routes, a wider rule that requires scopes is probably meant for what is left. */
const requiresScopes = ({ requirement, conditions }: CompiledRule): boolean =>
  classOf(requirement) === "scopes" || (conditions?.also.scopes.length ?? 0) > 0;

function widerFinding(
  table: CheckedTable,
  wide: CompiledRule,
  fallen: Fallen,
  areServed: boolean,
): AuditFinding {
  const parts = [...fallen].map(
    ([beside, { shown }]) =>
      `${groupByPath(shown)} (\`${beside.rule.key}\` requires ${describeRule(beside)})`,
  );
  return {
    kind: "wider_rule_weaker",
    severity: areServed || !requiresScopes(wide) ? "warning" : "note",
    rule: wide.rule,
    rules: Object.freeze([...fallen.keys()].map(({ rule }) => rule)),
    message: `\`${wide.rule.key}\` requires ${describeRule(wide)}. It also decides ${parts.join(", ")}.`,
    hint: adviceFor(table, fallen),
  };
}

/** Names the rules to add beside the first narrower rule. */
function adviceFor(table: CheckedTable, fallen: Fallen): string {
  const [first] = fallen.values();
  const keys: string[] = [];
  let areEnough = true;
  for (const [{ segments }, { beside, methods }] of first?.missing ?? []) {
    const isForAll = methods.size > 1 && startsWith(table, "*", segments, beside);
    for (const method of isForAll ? ["*"] : methods) {
      keys.push(`\`${method} ${renderPattern({ segments, hasSlash: false })}\``);
      areEnough &&= startsWith(table, method, segments, beside);
    }
  }
  const others = fallen.size > 1 ? " Do the same for the other requests." : "";
  const further = areEnough ? "" : " Then start the server: an error names further rules to add, if any.";
  return `Add ${keys.join(", ")} with what these requests require.${others}${further}`;
}

/**
 * Returns whether the order of a table stays total with one more rule, which requires what `beside` requires
 * (see `rule-order.ts`); `false` if that isn't certain.
 */
function startsWith(table: CheckedTable, method: string, segments: Segments, beside: Leaf): boolean {
  const added = { compiled: { ...beside.compiled, rule: { ...beside.compiled.rule, method } }, segments };
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
function groupByPath(requests: ReadonlySet<string>): string {
  const methodsByPath = new Map<string, string[]>();
  for (const request of requests) {
    const [method = "", path = ""] = request.split(" ");
    methodsByPath.set(path, [...(methodsByPath.get(path) ?? []), method]);
  }
  return [...methodsByPath]
    .map(([path, methods]) => `\`${methods.length === METHODS.length ? "*" : methods.join("|")} ${path}\``)
    .join(", ");
}
