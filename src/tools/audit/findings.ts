/** The findings of an audit: each has a message, and the line to write. */
import { suggest } from "../../core/errors.ts";
import type { ListedRoute, UnguardedPlace } from "../../core/policy/listed-route.ts";
import { isPattern } from "../../core/policy/parse-pattern.ts";
import { namesOf } from "../../core/policy/pattern.ts";
import type { UnmappedRoutes } from "../../core/policy/policy.ts";
import { parseRulePattern, rulePatternsFor } from "../../core/policy/rule-pattern.ts";
import { alternativesOf, haveCommonRoute, type RouteCoverage } from "../../adapters/shared/route-coverage.ts";
import { renderRules, type Rule } from "../../core/policy/rule.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { ALWAYS_GUARDED, SERVES } from "./mounts.ts";
import { type AuditFinding, renderRoute } from "./report.ts";

/** An empty array was created before the routes were registered, or for another application. */
export const ROUTES_MISSING: AuditFinding = {
  kind: "routes_missing",
  severity: "error",
  message: "no routes were passed, so nothing was audited.",
  hint: "List the routes after the application has registered them: audit(server, routesOf(app)).",
};

export function unreadable(route: ListedRoute, mistake: { message: string; hint: string }): AuditFinding {
  const isPath = route.pattern.startsWith("/");
  return {
    kind: "route_unreadable",
    severity: "error",
    route,
    message: `the route \`${renderRoute(route)}\` can't be compared with the table: ${mistake.message}`,
    hint: isPath
      ? mistake.hint
      : 'Register it with a path, or list the paths that it serves instead: audit(server, [...routesOf(app).filter(({ pattern }) => pattern.startsWith("/")), { method: "GET", pattern: "/agents/:agent_id" }]).',
  };
}

/** For MCP servers: behind `protect`, any valid token would be enough for every tool. */
export const FOR_MCP =
  " If it's an MCP server, write protectMcp(server) instead of protect(server), which doesn't check tools.";

/** The endpoints of the OAuth router of the MCP SDK. Which of them exist depends on its provider. */
const OAUTH_ENDPOINT = /^\/(?:authorize|token|register|revoke)$|^\/\.well-known\/oauth-/;

/** Creates the finding for a route that `protect` doesn't run before, whatever its rule is. */
export function unguarded(route: ListedRoute, { message, hint }: UnguardedPlace): AuditFinding {
  const line = `write ${JSON.stringify(renderRoute(route))}: "public" in scopeMappings.`;
  let advice = `${hint} If anyone may call it, ${line}`;
  if (ALWAYS_GUARDED.includes(route.serves)) advice = hint;
  // A public rule for it would open every route below.
  if (route.method === "*" && !route.serves && route.pattern.includes("*"))
    advice = `${hint} If it is middleware, write app.use.`;
  if (OAUTH_ENDPOINT.test(route.pattern))
    advice = `If OAuth clients call it before they have a token, ${line} Otherwise: ${hint}`;
  return {
    kind: "route_unguarded",
    severity: "error",
    route,
    message: `${describeRoute(route)} ${message}`,
    hint: advice,
  };
}

/** Creates the finding for an application in which no guard was found. */
export const guardMissing = ({ message, hint }: UnguardedPlace): AuditFinding => ({
  kind: "guard_missing",
  severity: "error",
  message: `the application ${message}`,
  hint: `${hint} If a gateway checks every request, write audit(server, routes, { guardedElsewhere: ["/{*path}"] }), or on the command line --guarded-elsewhere '/{*path}'.`,
});

export const corsAfterGuard = ({ serves }: ListedRoute): AuditFinding => ({
  kind: "cors_after_guard",
  severity: "warning",
  message:
    "protect runs before CORS middleware, and refuses every preflight: browsers can't call the application.",
  hint:
    serves === SERVES.lateNestCors
      ? "Call app.enableCors() before app.use(protect(server)), instead of passing `cors` to NestFactory.create."
      : "Register CORS middleware before protect.",
});

/** Creates the finding for a route that no rule covers completely. */
export function unmapped(
  coverage: RouteCoverage,
  fate: UnmappedRoutes,
  hasRoutesBelow: boolean,
): AuditFinding {
  const { route, touching } = coverage;
  const name = describeRoute(route);
  // NestJS registers middleware for every method at its global prefix, and CORS middleware has an OPTIONS
  // route for every path.
  const isMiddleware =
    route.method === "*"
      ? hasRoutesBelow
      : route.method === "OPTIONS" && touching.every(({ rule }) => rule.method === "*");
  if (isMiddleware && fate === "refused")
    return {
      kind: "route_unmapped",
      severity: "note",
      route,
      message: `${name} has no rule of its own: requests that reach it, and that no other rule allows, are refused.`,
      hint: `If it's middleware before other routes, or for CORS, there's nothing to do. Otherwise add to scopeMappings: ${linesFor(coverage)}`,
    };
  if (touching.length > 0) {
    const rules = Object.freeze(touching.map(({ rule }) => rule));
    return {
      kind: "route_partly_mapped",
      severity: "error",
      route,
      rules,
      message: `${name} has rules for only some of its requests (${renderRules(rules)}), and no rule covers all of them.`,
      hint: adviceFor(coverage),
    };
  }
  const message = `${name} has no rule: ${route.unguarded ? "behind protect, " : ""}${consequenceOf(fate, "it")}.`;
  return { kind: "route_unmapped", severity: "error", route, message, hint: adviceFor(coverage) };
}

/** Creates the finding for files at the root without rules of their own. */
export const filesUnmapped = (route: ListedRoute, fate: UnmappedRoutes): AuditFinding => ({
  kind: "route_unmapped",
  severity: "warning",
  route,
  message: `${describeRoute(route)} has no rules for its files: ${consequenceOf(fate, "them")}.`,
  hint: 'Add one for each folder or file, such as "GET /assets{/*path}": "public". If anyone may read all files, register them before protect.',
});

const consequenceOf = (fate: UnmappedRoutes, what: string): string =>
  fate !== "refused" ? `any valid token is enough for ${what}` : `every request for ${what} is refused`;

/** One rule for all procedures of tRPC would also decide those that are added later. */
function adviceFor(coverage: RouteCoverage): string {
  const { pattern, serves } = coverage.route;
  if (serves !== SERVES.procedures) return `Add to scopeMappings: ${linesFor(coverage)}`;
  const prefix = JSON.stringify(pattern.slice(0, pattern.lastIndexOf("/")) || "/");
  return `List the procedures: audit(server, [...routes, ...(await routesOf(router, { prefix: ${prefix} }))]).`;
}

const describeRoute = (route: ListedRoute): string =>
  `\`${renderRoute(route)}\`${route.serves === undefined ? "" : ` (${route.serves})`}`;

/** Creates the finding for an unreached rule. `candidates` are routes that it may have been meant for. */
export function unreached(rule: Rule, candidates: readonly ListedRoute[]): AuditFinding {
  const isDefault = rule.source === "default";
  const noun = rule.method === OPERATION_METHOD ? "operation" : "route";
  return {
    kind: "rule_unreached",
    severity: isDefault ? "note" : "error",
    rule,
    message: `no ${noun} reaches the rule \`${rule.key}\` (${rule.source}).`,
    hint: isDefault
      ? "A base table may be broader than an application. If the rule isn't used anywhere, remove it from defaultScopeMappings."
      : suggest(rule.key, candidates.map(renderRoute), hintForUnreached(rule, noun)),
  };
}

function hintForUnreached(rule: Rule, noun: "operation" | "route"): string {
  if (OAUTH_ENDPOINT.test(rule.pattern))
    return "If the OAuth provider doesn't have this endpoint, remove the rule.";
  const unlisted = `If static files, a mounted application or an upgrade behind protect serve these requests, add the route: audit(server, [...routesOf(app), ${literalOf(rule)}]), or for scopegate audit, export an array with it as routes. `;
  const shared = `If another service with this policy has the ${noun}, move the rule to defaultScopeMappings.`;
  return `${noun === "route" ? unlisted : ""}${shared} Otherwise the rule is misspelled or unused.`;
}

const literalOf = ({ method, pattern }: Rule): string =>
  `{ method: ${JSON.stringify(method)}, pattern: ${JSON.stringify(pattern)} }`;

/** Returns the lines that the table lacks, with a placeholder scope that no token has. */
function linesFor({ route: { method }, uncovered }: RouteCoverage): string {
  const patterns = rulePatternsFor(uncovered).map(parseRulePattern).filter(isPattern);
  const lines = patterns.map(({ source, alternatives }) => {
    const parameter = alternatives[0]?.segments.findLast(({ kind }) => kind === "parameter");
    const name = parameter && namesOf(parameter)[0];
    const scope = `resource:${name === undefined ? "" : `<${name}>:`}action`;
    return `${JSON.stringify(`${method} ${source}`)}: [${JSON.stringify(scope)}]`;
  });
  const isNamed = patterns.every((pattern) => haveCommonRoute(uncovered, alternativesOf({ pattern })));
  return `${lines.join(", ")}${isNamed ? "" : ". No rule can name only this route: the line matches other paths too."}`;
}
