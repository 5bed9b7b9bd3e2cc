/** Finds rewrites that open a route, because the rule for the path of the client requires less. */
import { createRouteCoverage } from "../../../adapters/shared/route-coverage.ts";
import type { CompiledTable } from "../../../core/policy/compile-rules.ts";
import { findRouteRule } from "../../../core/policy/find-rules.ts";
import { implies } from "../../../core/policy/implication.ts";
import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { commonPatterns, covers } from "../../../core/policy/overlap.ts";
import { identityOf, type Pattern, type PatternSegment } from "../../../core/policy/pattern.ts";
import type { UnmappedRoutes } from "../../../core/policy/policy.ts";
import { renderPattern } from "../../../core/policy/render-pattern.ts";
import { appliesTo, type CompiledRule, ruleIdentity } from "../../../core/policy/rule.ts";
import type { ScopeRules } from "../../../core/scopes/scope.ts";
import { SERVES } from "../mounts.ts";
import { alternativesOf, type Matcher, narrow, type PathPair, type Segments } from "./paths.ts";
import { type AuditFinding, renderRoute } from "../report.ts";
import { boundIn, strengthOf } from "../table-findings.ts";

/** A rewrite of an application. */
export interface Rewrite {
  /** What it is, such as: the rewrite `/teams/:path*` -> `/:path*`. */
  readonly text: string;
  readonly pairs: readonly PathPair[];
  /** The routes of the application. */
  readonly routes: readonly ListedRoute[];
  /** Those that only the rule for the path of the client protects. */
  readonly targets: readonly ListedRoute[];
  /** The paths that this guard checks; `undefined` without a guard. */
  readonly isGuarded: Matcher | undefined;
}

type CheckedTable = CompiledTable & { readonly scopeRules: ScopeRules };

const rewrites = new WeakMap<ListedRoute, Rewrite>();
const remarks = new WeakMap<ListedRoute, readonly AuditFinding[]>();

/** Records what a listed rewrite does. */
export const recordRewrite = (route: ListedRoute, rewrite: Rewrite): void => {
  rewrites.set(route, rewrite);
};

const addRemark = (route: ListedRoute, remark: AuditFinding): void => {
  remarks.set(route, [...(remarks.get(route) ?? []), remark]);
};

/** Reports a part of the application that isn't read. */
export const addNote = (route: ListedRoute, part: string): void =>
  addRemark(route, {
    kind: "not_audited",
    severity: "note",
    message: `the audit doesn't read ${part}.`,
    hint: "Check it yourself.",
  });

/** Reports a handler whose option `route` is missing, or is the route of another handler. */
export const addWrongRoute = (route: ListedRoute, written: string | undefined): void =>
  addRemark(route, {
    kind: "route_differs",
    severity: "error",
    route,
    message:
      written === undefined
        ? `\`${renderRoute(route)}\` is wrapped without a \`route\`, or one that the audit can't read: only the path of the client decides, which may have been rewritten.`
        : `\`${renderRoute(route)}\` is wrapped as \`${written}\`: the rule of that route decides.`,
    hint: `Write withScopes(server, { route: ${JSON.stringify(renderRoute(route))} }, handler), with \`route\` as the first option.`,
  });

/** Returns what listing these routes found, and one finding for each rewrite that opens routes. */
export const findInRewrites = (
  table: CheckedTable,
  routes: readonly ListedRoute[],
  fate: UnmappedRoutes,
): readonly AuditFinding[] =>
  routes.flatMap((route): readonly AuditFinding[] => {
    const rewrite = rewrites.get(route);
    const opened = rewrite ? [...findOpened(table, rewrite, fate)] : [];
    const noted = remarks.get(route) ?? [];
    if (!rewrite || opened.length === 0) return noted;
    const lines = opened.map(
      ({ path, target, rule }) => `\`${path}\` runs \`${renderRoute(target)}\` ${rule}`,
    );
    return [
      ...noted,
      {
        kind: "rewrite_weaker",
        severity: "error",
        route,
        routes: Object.freeze(opened.map(({ target }) => target)),
        message: `${rewrite.text} opens ${opened.length === 1 ? "a route" : `${opened.length} routes`}: ${lines.join("; ")}.`,
        hint: "Let the rules of these paths require what the rules of the routes require, or rewrite fewer paths.",
      },
    ];
  });

interface Opened {
  readonly path: string;
  readonly target: ListedRoute;
  readonly rule: string;
}

/** Finds the routes that a rewrite opens, each once. */
function* findOpened(table: CheckedTable, rewrite: Rewrite, fate: UnmappedRoutes): Iterable<Opened> {
  for (const target of rewrite.targets)
    for (const pair of rewrite.pairs.flatMap((each) =>
      alternativesOf(target.pattern).flatMap((route) => narrow(each, "target", route)),
    )) {
      const rule = findWeaker(table, rewrite, target, pair, fate);
      if (rule === undefined) continue;
      const path = renderPattern({ segments: pair.client, hasSlash: false });
      yield { path: path.replaceAll(/"(\w+)~[~\d]*"/g, "$1"), target, rule };
      break;
    }
}

/** Returns what decides a part of these paths instead of a rule of the route that requires more. */
function findWeaker(
  table: CheckedTable,
  { isGuarded, routes }: Rewrite,
  target: ListedRoute,
  pair: PathPair,
  fate: UnmappedRoutes,
): string | undefined {
  const isPage = target.serves === SERVES.page;
  // Without a guard, each page is reported by itself.
  if (isPage && !isGuarded) return undefined;
  const runsNarrower = createNarrowerCheck(routes, target.pattern);
  for (const method of methodsOf(table, target))
    for (const required of placesOf(table, [method, target.method], pair.target))
      for (const part of narrow(pair, "target", required.segments)) {
        if (runsNarrower(part.target)) continue;
        const strength = strengthOf(required.compiled);
        if (isPage && strength > 0 && !isGuarded?.(part.client)) return "without protect";
        if (fate !== "refused" && strength > 1 && !findRouteRule(table.tree, method, part.client))
          return "without a rule";
        const deciding = findWeakerRule(table, { method, target, required, part, runsNarrower });
        if (deciding) return `by \`${deciding.rule.key}\` instead of \`${required.compiled.rule.key}\``;
      }
  return undefined;
}

/** Returns the methods of requests that run a route. Next.js renders a page for every method. */
const methodsOf = (table: CheckedTable, { method, serves }: ListedRoute): ReadonlySet<string> =>
  new Set(serves === SERVES.page ? [method, ...table.rules.map(({ rule }) => rule.method)] : [method]);

/** Creates the check whether a path runs a narrower route than the one with this pattern. */
function createNarrowerCheck(routes: readonly ListedRoute[], pattern: string): (path: Segments) => boolean {
  const wide = alternativesOf(pattern);
  const narrower = routes
    .filter(({ serves }) => serves !== SERVES.rewrite)
    .flatMap((route) => alternativesOf(route.pattern))
    .filter((path) => wide.some((each) => covers(each, path) && identityOf(each) !== identityOf(path)));
  return (path) => narrower.some((each) => covers(each, path));
}

interface RewrittenPart {
  readonly method: string;
  readonly target: ListedRoute;
  /** A rule that decides requests for the route. */
  readonly required: Place;
  /** The paths for which it decides. */
  readonly part: PathPair;
  readonly runsNarrower: (path: Segments) => boolean;
}

/** Finds the rule for a path of the client that doesn't imply the rule of the route. */
function findWeakerRule(
  table: CheckedTable,
  { method, target, required, part, runsNarrower }: RewrittenPart,
): CompiledRule | undefined {
  for (const deciding of placesOf(table, [method], part.client))
    for (const both of narrow(part, "client", deciding.segments)) {
      if (runsNarrower(both.target)) continue;
      const areDeciding =
        decides(table, [method], both.client, deciding) &&
        decides(table, [method, target.method], both.target, required);
      if (areDeciding && !isImplied(table, method, deciding, required, both)) return deciding.compiled;
    }
  return undefined;
}

/** A rule with one of its alternatives. */
interface Place {
  readonly compiled: CompiledRule;
  readonly segments: Segments;
}

/** Returns the rules that decide some requests of these methods for a path. */
const placesOf = (table: CheckedTable, methods: readonly string[], path: Segments): readonly Place[] => {
  const pattern: Pattern = {
    source: "",
    alternatives: [{ segments: path, hasSlash: false }],
    parameters: new Set(),
  };
  const deciding = methods.flatMap(
    (method) => createRouteCoverage(table, { method, pattern: "" }, pattern).deciding,
  );
  return [...new Set(deciding)].flatMap((compiled) =>
    compiled.pattern.alternatives.map(({ segments }) => ({ compiled, segments })),
  );
};

const decides = (
  table: CheckedTable,
  methods: readonly string[],
  path: Segments,
  { compiled }: Place,
): boolean => placesOf(table, methods, path).some((place) => place.compiled === compiled);

/** Returns whether all callers who satisfy a rule at the client's path satisfy the other at the target. */
function isImplied(
  table: CheckedTable,
  method: string,
  deciding: Place,
  required: Place,
  { client, target }: PathPair,
): boolean {
  const width = Math.max(
    ...[client, target, deciding.segments, required.segments].map(({ length }) => length),
  );
  // `implies` compares rules of one path: here, both paths one after the other, with a text for each value.
  const spread = (path: Segments): Segments => {
    const end = path.findIndex(({ kind }) => kind === "wildcard");
    const beforeWildcard = path.slice(0, end < 0 ? path.length : end);
    const parameter: PatternSegment = { kind: "parameter", name: "" };
    return [
      ...beforeWildcard.map(toText),
      ...new Array<PatternSegment>(width - beforeWildcard.length).fill(parameter),
    ];
  };
  const padding = new Array<PatternSegment>(width).fill({ kind: "static", text: "" });
  const other = { ...required, segments: [...padding, ...required.segments] };
  if (!implies(deciding, other, [...spread(client), ...spread(target)], table.scopeRules)) return false;
  return table.rules.every((restricting) => {
    const { rule, conditions, pattern } = restricting;
    const isExcept = ({ compiled, segments }: Place): boolean =>
      conditions?.except.has(ruleIdentity(compiled.rule.method, identityOf(segments))) === true;
    if (!conditions || !appliesTo(rule, method) || isExcept(required)) return true;
    return pattern.alternatives.every(({ segments }) => {
      if (commonPatterns(segments, target).length === 0) return true;
      if (!covers(segments, client) || isExcept(deciding)) return false;
      return boundIn(restricting).every((name) => {
        const index = segments.findIndex((segment) => segment.kind === "parameter" && segment.name === name);
        const value = client[index];
        return value?.kind !== "wildcard" && JSON.stringify(value) === JSON.stringify(target[index]);
      });
    });
  });
}

const toText = (segment: PatternSegment): PatternSegment =>
  segment.kind === "parameter" ? { kind: "static", text: `~${segment.name}~` } : segment;
