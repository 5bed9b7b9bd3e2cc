/** The findings of an audit: what was found, and the line to write. */
import { suggest } from "../errors.ts";
import { type AuditFinding, renderRoute, renderRules } from "./report.ts";
import { describeRequirement } from "../policy/explain.ts";
import { identityOf, type Pattern } from "../policy/pattern.ts";
import { type ListedRoute, type RouteCoverage, type UnguardedPlace } from "./coverage.ts";
import { type Weakness } from "./weakness.ts";
import { type CompiledRule, type Rule } from "../policy/rule.ts";

/** Whether a request without a rule is refused, or a valid token is enough. */
export type UnmappedRoutes = "refused" | "open";

/** An empty list was made before the routes were registered, or from another application. */
export const ROUTES_MISSING: AuditFinding = Object.freeze({
  kind: "routes_missing",
  severity: "error",
  message: "the list has no routes, and so proves nothing.",
  hint: "List the routes of the application after it has registered them: server.audit(routesOf(app)).",
});

export function unreadable(route: ListedRoute, mistake: { message: string; hint: string }): AuditFinding {
  const isPath = route.pattern.startsWith("/");
  return Object.freeze({
    kind: "route_unreadable",
    severity: "error",
    route,
    message: `the route \`${renderRoute(route)}\` cannot be compared with the table: ${mistake.message}`,
    hint: isPath
      ? mistake.hint
      : 'Register it with a path, or list what it serves in its place: server.audit([...routesOf(app).filter(({ pattern }) => pattern.startsWith("/")), { method: "GET", pattern: "/agents/:agent_id" }]).',
  });
}

/** A route that `protect` does not run in front of, whatever its rule says. */
export const unguarded = (route: ListedRoute, { message, hint }: UnguardedPlace): AuditFinding =>
  Object.freeze({
    kind: "route_unguarded",
    severity: "error",
    route,
    message: `\`${renderRoute(route)}\` ${message}`,
    hint: `${hint} If it is for everybody, write ${JSON.stringify(renderRoute(route))}: "public" in scopeMappings.`,
  });

/** An application in which no guard was found. */
export const guardMissing = ({ message, hint }: UnguardedPlace): AuditFinding =>
  Object.freeze({ kind: "guard_missing", severity: "warning", message: `the application ${message}`, hint });

/** A route that no rule covers as a whole. */
export function unmapped(
  coverage: RouteCoverage,
  pattern: Pattern,
  fate: UnmappedRoutes,
  hasRoutesBelow: boolean,
): AuditFinding {
  const { route, touching } = coverage;
  const name = `\`${renderRoute(route)}\``;
  const line = `Add to scopeMappings: ${lineFor(route, pattern)}`;
  const consequence = consequenceOf(route, fate);
  // NestJS registers middleware in this way: for every method, at its global prefix.
  if (route.method === "*" && fate === "refused" && hasRoutesBelow) {
    const message = `${name} has no rule of its own: what no other rule allows is refused.`;
    const hint = `If it is middleware in front of other routes, there is nothing to do. Otherwise add to scopeMappings: ${lineFor(route, pattern)}`;
    return Object.freeze({ kind: "route_unmapped", severity: "note", route, message, hint });
  }
  if (touching.length > 0) {
    const rules = Object.freeze(touching.map(({ rule }) => rule));
    const twins = touching.filter((rule) => isTwin(rule, route, pattern)).map(({ rule }) => rule);
    return Object.freeze({
      kind: "route_partly_mapped",
      severity: "error",
      route,
      rules,
      message: `${name} has rules for a part of its requests only (${renderRules(rules)}), none that covers all of them.`,
      hint:
        twins.length === 0
          ? line
          : `Register its parts as routes of their own, or write one rule in place of ${renderRules(twins)}: ${lineFor(route, pattern)}`,
    });
  }
  // CORS middleware in front answers preflights; its OPTIONS route is never reached.
  if (route.method === "OPTIONS" && fate === "refused") {
    const message = `${name} has no rule: what is not answered in front of protect is refused.`;
    const hint = `If CORS middleware is in front of protect, there is nothing to do: it answers preflights. Otherwise add to scopeMappings: ${lineFor(route, pattern)}`;
    return Object.freeze({ kind: "route_unmapped", severity: "note", route, message, hint });
  }
  const message = `${name} has no rule: ${consequence}.`;
  return Object.freeze({ kind: "route_unmapped", severity: "error", route, message, hint: line });
}

function consequenceOf({ unguarded: place }: ListedRoute, fate: UnmappedRoutes): string {
  if (fate === "open")
    return place
      ? "behind protect any valid token would be enough for it"
      : "any valid token is enough for it";
  return place ? "behind protect every request for it would be refused" : "every request for it is refused";
}

export function weaker({ route }: RouteCoverage, pattern: Pattern, weakness: Weakness): AuditFinding {
  const { rule } = weakness.rule;
  const rules = Object.freeze(weakness.stronger.map((stronger) => stronger.rule));
  return Object.freeze({
    kind: "route_weaker",
    severity: "warning",
    route,
    rule,
    rules,
    message: `\`${renderRoute(route)}\` is decided by ${describe(rule, ", which")}; ${rules.map((one) => describe(one)).join(", ")}.`,
    hint: hintFor(weakness, route, pattern),
  });
}

function hintFor({ kind, rule, stronger: [first] }: Weakness, route: ListedRoute, pattern: Pattern): string {
  if (kind === "changes") return "Ask of those who change it what those who read it are asked, or more.";
  if (kind === "borrowed" || !first)
    return `The rule is not written for this route. Add to scopeMappings: ${lineFor(route, pattern)}`;
  const { requirement, pattern: closer } = first.rule;
  const key = JSON.stringify(`${rule.rule.method} ${closer}`);
  return `An exact method comes before \`*\`, however wide its path. Add to scopeMappings: ${key}: ${JSON.stringify(requirement)}`;
}

/** A rule that no route reaches. `candidates` are the routes that it may have been meant for. */
export function unreached(rule: Rule, candidates: readonly ListedRoute[]): AuditFinding {
  const isDefault = rule.source === "default";
  return Object.freeze({
    kind: "rule_unreached",
    severity: isDefault ? "note" : "error",
    rule,
    message: `no route reaches the rule \`${rule.key}\` (${rule.source}).`,
    hint: isDefault
      ? "A default table is broader than one application; the option defaultScopeMappings takes another one."
      : suggest(
          rule.key,
          candidates.map(renderRoute),
          `If static files, a mounted application or an upgrade answer it, add it to the routes: server.audit([...routesOf(app), ${literalOf(rule)}]). Otherwise it is misspelled, or can be removed.`,
        ),
  });
}

const literalOf = ({ method, pattern }: Rule): string =>
  `{ method: ${JSON.stringify(method)}, pattern: ${JSON.stringify(pattern)} }`;

const describe = ({ key, requirement }: Rule, link = ""): string =>
  `\`${key}\`${link} asks for ${describeRequirement(requirement)}`;

/** A line for the table, with a scope that no token is granted by chance. */
function lineFor(route: ListedRoute, { alternatives: [first, ...others] }: Pattern): string {
  const parameter = first?.segments.findLast(({ kind }) => kind === "parameter");
  const id = parameter && "name" in parameter && others.length === 0 ? `<${parameter.name}>:` : "";
  return `${JSON.stringify(renderRoute(route))}: [${JSON.stringify(`resource:${id}action`)}]`;
}

/** Whether both are one route of the table, where two keys for it would be a configuration error. */
function isTwin({ rule, pattern }: CompiledRule, route: ListedRoute, own: Pattern): boolean {
  const identities = new Set(own.alternatives.map(({ segments }) => identityOf(segments)));
  return (
    rule.method === route.method &&
    pattern.alternatives.some(({ segments }) => identities.has(identityOf(segments)))
  );
}
