/** Finds what falls to a wider rule that requires less than the narrower rule beside it. */
import { describeRule } from "../../core/policy/describe.ts";
import { findRouteRules } from "../../core/policy/find-rules.ts";
import { type CheckedTable, implies } from "../../core/policy/implication.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { commonPatterns, covers } from "../../core/policy/overlap.ts";
import type { PatternSegment } from "../../core/policy/pattern.ts";
import { renderPattern } from "../../core/policy/render-pattern.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";
import type { Leaf } from "../../core/policy/rule-tree.ts";
import { leavesInOrder } from "../../core/policy/walk-tree.ts";
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

/** What falls to one wide rule: requests, by the narrower rule beside them. */
type Fallen = Map<CompiledRule, Set<string>>;

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
          const fallen: Fallen = fallenByRule.get(wide.compiled) ?? new Map<CompiledRule, Set<string>>();
          const requests = fallen.get(beside.compiled) ?? new Set();
          requests.add(`${method} ${renderPattern({ segments, hasSlash: false })}`);
          fallenByRule.set(wide.compiled, fallen.set(beside.compiled, requests));
        }
  }
  return [...fallenByRule].map(([wide, fallen]) => widerFinding(wide, fallen, routes !== undefined));
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

function widerFinding(wide: CompiledRule, fallen: Fallen, areServed: boolean): AuditFinding {
  const parts = [...fallen].map(
    ([beside, requests]) =>
      `${groupByPath(requests)} (\`${beside.rule.key}\` requires ${describeRule(beside)})`,
  );
  const [first] = fallen.keys();
  const root = (first?.rule.pattern ?? "").replace(/\{?\/?\{?\*\w+\}?$|\/$/, "");
  return {
    kind: "wider_rule_weaker",
    severity: areServed || !requiresScopes(wide) ? "warning" : "note",
    rule: wide.rule,
    rules: Object.freeze([...fallen.keys()].map(({ rule }) => rule)),
    message: `\`${wide.rule.key}\` requires ${describeRule(wide)}. It also decides ${parts.join(", ")}.`,
    hint: `Write what these requests require: \`* ${root || "/"}\` for the other methods of a path, \`* ${root}{/*path}\` for everything below it, too.`,
  };
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
