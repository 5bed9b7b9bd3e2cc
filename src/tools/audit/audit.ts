import { compact } from "../../core/runtime/compact.ts";
import { pipelineOf } from "../../core/port.ts";
import type { CompiledTable } from "../../core/policy/compile-rules.ts";
import type { ListedRoute, UnguardedPlace } from "../../core/policy/listed-route.ts";
import { covers } from "../../core/policy/overlap.ts";
import { isPattern, parsePattern } from "../../core/policy/parse-pattern.ts";
import type { Pattern } from "../../core/policy/pattern.ts";
import type { UnmappedRoutes } from "../../core/policy/policy.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";
import {
  alternativesOf,
  createRouteCoverage,
  haveCommonRoute,
  isReachedBy,
  type RouteCoverage,
} from "../../adapters/shared/route-coverage.ts";
import { findMethodMistake } from "../../core/policy/route-key.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { assertResourceServer } from "../../adapters/shared/misuse.ts";
import { type AuditOptions, findCatchAlls } from "./catch-all.ts";
import {
  corsAfterGuard,
  filesUnmapped,
  FOR_MCP,
  guardMissing,
  ROUTES_MISSING,
  unguarded,
  unmapped,
  unreached,
  unreadable,
} from "./findings.ts";
import { findHidden } from "./hidden-routes.ts";
import {
  needsNoOwnRule,
  isLateCors,
  isServedBeforeGuard,
  ROOT,
  SERVES,
  withoutSimilarFiles,
  withProcedures,
} from "./mounts.ts";
import { auditOperations, isOperationRoute } from "./operations.ts";
import { withoutOtherGuards } from "./other-guards.ts";
import type { CheckedTable } from "../../core/policy/implication.ts";
import { findersOf } from "./recorded-findings.ts";
import { pathsOf } from "./routes/registration.ts";
import { type AuditedRoute, type AuditFinding, type AuditReport, createAuditReport } from "./report.ts";
import { findInTable, strengthOf } from "./table-findings.ts";

/**
 * Compares the table of a server with the routes of an application, as `routesOf` lists them. It doesn't
 * cover handlers without a route, such as static files and upgrades. `routesOf` also reports whether
 * `protect` runs before a route. A pattern that can't be read is a finding.
 *
 * @throws TypeError for anything but a resource server and an iterable of `{ method, pattern }`
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { audit, routesOf } from "scopegate/audit";
 * import { protect } from "scopegate/express";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const app = express();
 * app.use(protect(server));
 * app.get("/agents/:agent_id", (req, res) => res.json(req.params.agent_id));
 * audit(server, routesOf(app)).orThrow();
 * ```
 */
export function audit(
  server: ResourceServer,
  routes: Iterable<ListedRoute>,
  options?: AuditOptions,
): AuditReport {
  assertResourceServer(server, "audit");
  const { policy } = pipelineOf(server);
  return auditRoutes(policy.rules, routes, policy.unmapped, options, server);
}

/** Like `audit`, for a table without a server. */
export function auditRoutes(
  table: CheckedTable,
  routes: Iterable<ListedRoute>,
  fate: UnmappedRoutes,
  options: AuditOptions = {},
  server?: ResourceServer,
): AuditReport {
  const isAuthorizing = !server || pipelineOf(server).policy.rules.authorization;
  const findings: AuditFinding[] = [
    ...(isAuthorizing ? [] : [AUTHORIZATION_OFF]),
    ...findCatchAlls(table.rules, options),
  ];
  const readable: RouteCoverage[] = [];
  const listed = requireIterable(routes);
  const list = readList(server ? withoutOtherGuards(listed, server) : listed);
  if (list.length === 0) return createAuditReport([], [ROUTES_MISSING]);
  findings.push(...findHidden(listed));
  findings.push(...listed.flatMap(findersOf).flatMap((find) => find(table, fate)));
  const operations = auditOperations(table, list.filter(isOperationRoute), fate);
  const routesOnly = list.filter((route) => !isOperationRoute(route));
  for (const route of routesOnly) {
    const parsed = parseRoute(route);
    if ("message" in parsed) findings.push(unreadable(route, parsed));
    else readable.push(coverageOf(table, route, parsed));
  }
  const coverages = withProcedures(withoutSimilarFiles(readable));
  // If only operations are listed, the audit is about an MCP server, not about the application that contains
  // it.
  const routeRules = table.rules.filter(({ rule }) => routesOnly.length > 0 && !isOperationRoute(rule));
  const outside = coverages.filter(({ route }) => isServedBeforeGuard(route));
  const others = coverages.filter(({ route }) => !isServedBeforeGuard(route));
  const unreachedRules = routeRules.filter((rule) => !others.some((coverage) => reaches(coverage, rule)));
  const isTarget = (coverage: RouteCoverage): boolean =>
    unreachedRules.some((rule) => strengthOf(rule) > 0 && reaches(coverage, rule));
  const elsewhere = (options.guardedElsewhere ?? []).flatMap(pathsOf);
  const exposed = [...others.filter(requiresGuard), ...outside.filter(isTarget)].filter(
    ({ alternatives }) => !alternatives.every((path) => elsewhere.some((wide) => covers(wide, path))),
  );
  const mcpHint = table.rules.some(({ rule }) => isOperationRoute(rule)) ? FOR_MCP : "";
  for (const coverage of coverages) {
    const { route, rule } = coverage;
    const place = exposed.includes(coverage) ? route.unguarded : undefined;
    if (place && !place.isUncertain)
      findings.push(unguarded(route, { ...place, hint: place.hint + mcpHint }));
    else if (!rule && !needsNoOwnRule(coverage))
      findings.push(unmapped(coverage, fate, hasRoutesBelow(coverage, coverages)));
    else if (!rule && lacksRulesForFiles(coverage, coverages)) findings.push(filesUnmapped(route, fate));
  }
  const uncertain = exposed.find(({ route }) => route.unguarded?.isUncertain)?.route.unguarded;
  if (uncertain) findings.push(guardMissing({ ...uncertain, hint: uncertain.hint + mcpHint }));
  // With a public rule for OPTIONS, `protect` lets preflights pass.
  const late = coverages.find(({ route, rule }) => isLateCors(route) && rule?.requirement.kind !== "public");
  if (late) findings.push(corsAfterGuard(late.route));
  // Each of these routes needs a rule of its own, so the unreached rules may have been meant for them.
  const astray = coverages.filter((coverage) => !hasOwnRule(coverage)).map(({ route }) => route);
  const useless = unreachedRules.filter((rule) => !outside.some((coverage) => reaches(coverage, rule)));
  findings.push(...useless.map(({ rule }) => unreached(rule, astray)));
  findings.push(...findInTable(table, coverages));
  const needingRules = coverages.filter((coverage) => coverage.rule ?? !needsNoOwnRule(coverage));
  return createAuditReport(
    [...needingRules.map(toAuditedRoute), ...operations.routes],
    [...findings, ...operations.findings],
  );
}

function coverageOf(table: CompiledTable, route: ListedRoute, pattern: Pattern): RouteCoverage {
  const coverage = createRouteCoverage(table, route, pattern);
  if (route.serves !== SERVES.page) return coverage;
  // A page also responds to other methods, such as POST for server actions. A rule for every method may be
  // meant for other routes.
  const { touching, deciding } = createRouteCoverage(table, { ...route, method: "*" }, pattern);
  const isMeant = (each: CompiledRule): boolean =>
    each.rule.method !== "*" || coverage.deciding.includes(each);
  return { ...coverage, touching, deciding: deciding.filter(isMeant) };
}

const AUTHORIZATION_OFF: AuditFinding = {
  kind: "authorization_off",
  severity: "warning",
  message: "the server checks no scopes (`authorization: false`): any valid token is enough.",
  hint: "Remove the option.",
};

const BELOW = { kind: "wildcard", name: "rest" } as const;

/**
 * Returns whether other routes have longer paths that begin with the path of this route, without its
 * wildcard.
 */
const hasRoutesBelow = ({ alternatives }: RouteCoverage, all: readonly RouteCoverage[]): boolean =>
  alternatives.some((path) => {
    const below = [...path.slice(0, path.at(-1)?.kind === "wildcard" ? -1 : undefined), BELOW];
    return all.some(
      (other) => other.route.method !== "*" && other.alternatives.some((longer) => covers(below, longer)),
    );
  });

/** Returns whether a rule may be meant for a route. Where it can't be, the rule may be misspelled. */
function reaches(coverage: RouteCoverage, compiled: CompiledRule): boolean {
  const { pattern, serves } = coverage.route;
  if (serves === SERVES.listedProcedures || isLateCors(coverage.route)) return false;
  // Files at the root may have any path, so only public rules count.
  if (serves === SERVES.files && pattern === ROOT && strengthOf(compiled) > 0) return false;
  // A handler before `protect` may be middleware for other routes, so only rules for its own path count.
  if (serves === SERVES.handler) return haveCommonRoute(coverage.alternatives, alternativesOf(compiled));
  return isReachedBy(compiled, coverage);
}

/** Files at the root may have any path. A rule that another route reaches was written for that route. */
const lacksRulesForFiles = ({ route, touching }: RouteCoverage, all: readonly RouteCoverage[]): boolean =>
  route.serves === SERVES.files &&
  route.pattern === ROOT &&
  !isServedBeforeGuard(route) &&
  touching.every((rule) => all.some((other) => other.route !== route && reaches(other, rule)));

/** A public route needn't be guarded. Neither does OPTIONS: CORS middleware responds first. */
function requiresGuard({ route: { method, serves }, rule, deciding }: RouteCoverage): boolean {
  if (serves === SERVES.unwrapped) return true;
  if (method === "OPTIONS" && rule?.rule.method !== "OPTIONS") return false;
  const isMapped = rule !== undefined || serves === SERVES.listedProcedures || serves === SERVES.publicFile;
  return !isMapped || deciding.some(({ requirement }) => requirement.kind !== "public");
}

/** Returns whether the rule that decides a route was written for its pattern, not for a wider one. */
const hasOwnRule = ({ alternatives, rule }: RouteCoverage): boolean =>
  rule !== undefined && haveCommonRoute(alternatives, alternativesOf(rule));

function toAuditedRoute({ route, rule, deciding }: RouteCoverage): AuditedRoute {
  const parts = deciding.filter((compiled) => compiled !== rule).map((compiled) => compiled.rule);
  return Object.freeze({ ...route, ...compact({ rule: rule?.rule }), parts: Object.freeze(parts) });
}

function parseRoute({ method, pattern }: ListedRoute): Pattern | { message: string; hint: string } {
  const parsed = parsePattern(pattern);
  const mistake = findMethodMistake(method, pattern);
  if (mistake) return mistake;
  return isPattern(parsed) ? parsed : { message: `\`${pattern}\` ${parsed.message}`, hint: parsed.hint };
}

function requireIterable(routes: unknown): readonly ListedRoute[] {
  const isIterable = typeof routes === "object" && routes !== null && Symbol.iterator in routes;
  if (!isIterable)
    throw new TypeError("audit takes an array of { method, pattern }: write audit(server, routesOf(app)).");
  return [...(routes as Iterable<ListedRoute>)];
}

/** Reads each route once: a trailing slash doesn't make another route. */
function readList(routes: readonly unknown[]): readonly ListedRoute[] {
  const distinct = new Map<string, ListedRoute>();
  for (const [index, entry] of routes.entries()) {
    const route = readRoute(entry, index);
    const identity = `${route.method} ${route.pattern.replace(/(?<=.)\/$/, "")}`;
    // If a route is registered twice, the unguarded registration counts.
    const earlier = distinct.get(identity);
    if (!earlier || (route.unguarded && !earlier.unguarded)) distinct.set(identity, route);
  }
  return [...distinct.values()];
}

function readRoute(route: unknown, index: number): ListedRoute {
  const listed = Object(route) as Partial<ListedRoute>;
  const { method, pattern, parameters, parameterTypes, scopes, serves, unguarded: place } = listed;
  if (typeof method !== "string" || typeof pattern !== "string")
    throw new TypeError(
      `audit takes routes such as { method: "GET", pattern: "/agents/:agent_id" }; entry ${index + 1} has another shape.`,
    );
  return Object.freeze({
    method,
    pattern,
    ...compact({
      parameters: Array.isArray(parameters) ? (parameters as readonly string[]) : undefined,
      parameterTypes: parameterTypes instanceof Object ? parameterTypes : undefined,
      scopes: Array.isArray(scopes) || scopes === "unknown" ? (scopes as ListedRoute["scopes"]) : undefined,
      serves: typeof serves === "string" ? serves : undefined,
      unguarded: place === undefined ? undefined : readPlace(place, index),
    }),
  });
}

function readPlace(place: Partial<UnguardedPlace>, index: number): UnguardedPlace {
  const { message, hint } = Object(place) as { readonly message?: unknown; readonly hint?: unknown };
  if (typeof message !== "string" || typeof hint !== "string")
    throw new TypeError(
      `audit takes { message, hint } as \`unguarded\`; entry ${index + 1} has something else.`,
    );
  const isUncertain = place.isUncertain === true ? (true as const) : undefined;
  return Object.freeze({ message, hint, ...compact({ isUncertain }) });
}
