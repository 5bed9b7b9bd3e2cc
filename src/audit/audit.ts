import { type AuditedRoute, type AuditFinding, type AuditReport, createAuditReport } from "./report.ts";
import {
  ROUTES_MISSING,
  shadowed,
  unguarded,
  unmapped,
  type UnmappedRoutes,
  unreached,
  unreadable,
  weaker,
} from "./findings.ts";
import { isPattern, parsePattern, type Pattern } from "../policy/pattern.ts";
import {
  createRouteCoverage,
  isReachedBy,
  type ListedRoute,
  type RouteCoverage,
  type UnguardedPlace,
} from "./coverage.ts";
import { findMethodMistake } from "../policy/route-key.ts";
import { findWeakness, hasOwnRule } from "./weakness.ts";
import { type CompiledRule } from "../policy/rule.ts";

/** A route whose pattern could be read. */
interface ReadRoute {
  readonly coverage: RouteCoverage;
  readonly pattern: Pattern;
}

/**
 * Compares a table with the routes of an application.
 * @throws TypeError for anything but a list of `{ method, pattern }`
 */
export function auditRoutes(
  rules: readonly CompiledRule[],
  routes: Iterable<ListedRoute>,
  fate: UnmappedRoutes,
): AuditReport {
  const findings: AuditFinding[] = [];
  const read: ReadRoute[] = [];
  const list = readList(routes);
  if (list.length === 0) return createAuditReport([], [ROUTES_MISSING]);
  for (const route of list) {
    const parsed = parseRoute(route);
    if ("message" in parsed) findings.push(unreadable(route, parsed));
    else read.push({ coverage: createRouteCoverage(rules, route, parsed), pattern: parsed });
  }
  const coverages = read.map(({ coverage }) => coverage);
  for (const { coverage, pattern } of read) {
    const weakness = findWeakness(coverage, coverages);
    const { route } = coverage;
    if (route.unguarded && asksSomething(coverage)) findings.push(unguarded(route, route.unguarded));
    if (!coverage.rule) findings.push(unmapped(coverage, pattern, fate));
    else if (weakness) findings.push(weaker(coverage, pattern, weakness));
  }
  return createAuditReport(coverages.map(toAuditedRoute), [...findings, ...findIdleRules(rules, coverages)]);
}

/** What is public may stand anywhere, and so may CORS middleware, which answers OPTIONS in front of the guard. */
function asksSomething({ route, rule, deciding }: RouteCoverage): boolean {
  if (route.method === "OPTIONS" && rule?.rule.method !== "OPTIONS") return false;
  return !rule || deciding.some(({ requirement }) => requirement.kind !== "public");
}

/** Rules that decide nothing of the application. */
function findIdleRules(
  rules: readonly CompiledRule[],
  coverages: readonly RouteCoverage[],
): readonly AuditFinding[] {
  const astray = coverages.filter((coverage) => !hasOwnRule(coverage)).map(({ route }) => route);
  return rules.flatMap((compiled) => {
    const reaching = coverages.filter((coverage) => isReachedBy(compiled, coverage));
    if (reaching.length === 0) return [unreached(compiled.rule, astray)];
    // Who answers OPTIONS is not in the list.
    const isIdle =
      compiled.rule.method !== "OPTIONS" && !reaching.some(({ deciding }) => deciding.includes(compiled));
    const deciding = new Set(reaching.flatMap((coverage) => coverage.deciding.map(({ rule }) => rule)));
    return isIdle ? [shadowed(compiled.rule, [...deciding])] : [];
  });
}

function toAuditedRoute({ route, rule, deciding }: RouteCoverage): AuditedRoute {
  const parts = Object.freeze(deciding.filter((one) => one !== rule).map((one) => one.rule));
  return Object.freeze({ ...route, ...(rule && { rule: rule.rule }), parts });
}

function parseRoute({ method, pattern }: ListedRoute): Pattern | { message: string; hint: string } {
  const parsed = parsePattern(pattern);
  const mistake = findMethodMistake(method, pattern);
  if (mistake) return mistake;
  return isPattern(parsed) ? parsed : { message: `\`${pattern}\` ${parsed.message}`, hint: parsed.hint };
}

/** Each route once: a trailing slash does not make another one. */
function readList(routes: unknown): readonly ListedRoute[] {
  const isList = typeof routes === "object" && routes !== null && Symbol.iterator in routes;
  if (!isList)
    throw new TypeError(
      "audit takes a list of routes, each { method, pattern }: write server.audit(routesOf(app)).",
    );
  const found = new Map<string, ListedRoute>();
  for (const [index, one] of [...(routes as Iterable<unknown>)].entries()) {
    const route = readRoute(one, index);
    const identity = `${route.method} ${route.pattern.replace(/(?<=.)\/$/, "")}`;
    // Of handlers for one route that stand in different places it matters who is not guarded.
    if (!found.has(identity) || (route.unguarded && !found.get(identity)?.unguarded))
      found.set(identity, route);
  }
  return [...found.values()];
}

function readRoute(route: unknown, index: number): ListedRoute {
  const { method, pattern, unguarded: place } = Object(route) as Partial<Record<keyof ListedRoute, unknown>>;
  if (typeof method !== "string" || typeof pattern !== "string")
    throw new TypeError(
      `audit takes routes such as { method: "GET", pattern: "/agents/:agent_id" }: number ${index + 1} of the list is none.`,
    );
  if (place === undefined) return Object.freeze({ method, pattern });
  const { message, hint } = Object(place) as Partial<Record<keyof UnguardedPlace, unknown>>;
  if (typeof message !== "string" || typeof hint !== "string")
    throw new TypeError(
      `audit takes { message, hint } for where a route is unguarded: number ${index + 1} of the list has something else.`,
    );
  return Object.freeze({ method, pattern, unguarded: Object.freeze({ message, hint }) });
}
