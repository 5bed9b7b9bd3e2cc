/** Finds rewrites that open a route, because the rule for the path of the client requires less. */
import { findRouteRules } from "../../../core/policy/find-rules.ts";
import { type CheckedTable, implies } from "../../../core/policy/implication.ts";
import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { commonPatterns, covers } from "../../../core/policy/overlap.ts";
import { identityOf, type PatternSegment } from "../../../core/policy/pattern.ts";
import type { UnmappedRoutes } from "../../../core/policy/policy.ts";
import { renderPattern } from "../../../core/policy/render-pattern.ts";
import type { Leaf } from "../../../core/policy/rule-tree.ts";
import { appliesTo, type CompiledRule, ruleIdentity } from "../../../core/policy/rule.ts";
import { overlappingLeaves } from "../../../core/policy/walk-tree.ts";
import { SERVES } from "../mounts.ts";
import { alternativesOf, type Matcher, narrow, type PathPair, readRewrite, type Segments } from "./paths.ts";
import { recordFinder } from "../recorded-findings.ts";
import { type AuditFinding, renderRoute } from "../report.ts";
import { strengthOf } from "../table-findings.ts";

/** A rewrite of an application. */
export interface Rewrite {
  /** What it is, such as: the rewrite `/teams/:path*` -> `/:path*`. */
  readonly text: string;
  readonly hint: string;
  readonly pairsFor: (table: CheckedTable) => readonly PathPair[];
  /** Which path findings show. */
  readonly shown: keyof PathPair;
  /** The paths of all routes of the application. */
  readonly paths: readonly Segments[];
  /** The routes that only the rule for the path of the client protects. */
  readonly targets: readonly ListedRoute[];
  /** The paths that this guard checks; `undefined` without a guard, when each route is reported by itself. */
  readonly isGuarded: Matcher | undefined;
}

/** Lets audits report the routes that a listed rewrite opens. */
export const recordRewrite = (route: ListedRoute, rewrite: Rewrite): void =>
  recordFinder(route, (table, fate) => {
    const opened = [...findOpened(table, rewrite, fate)];
    if (opened.length === 0) return [];
    const lines = opened.map(
      ({ path, target, rule }) => `\`${path}\` runs \`${renderRoute(target)}\` ${rule}`,
    );
    const finding = {
      kind: "rewrite_weaker",
      severity: "error",
      route,
      routes: Object.freeze(opened.map(({ target }) => target)),
      message: `${rewrite.text} opens ${opened.length === 1 ? "a route" : `${opened.length} routes`}: ${lines.join("; ")}.`,
      hint: rewrite.hint,
    } as const;
    return [finding];
  });

/** Next.js removes a final `.rsc` from the path for `proxy.ts`, but not from the path whose file runs. */
export const FINAL_RSC: Pick<Rewrite, "text" | "hint" | "pairsFor" | "shown"> = {
  text: "`.rsc`, which proxy.ts doesn't see at the end of a path,",
  hint: 'Write redirects: async () => [{ source: "/:path(.*).rsc", destination: "/:path", permanent: false }] in next.config.',
  shown: "target",
  pairsFor({ rules }) {
    const alternatives = rules.flatMap(({ pattern }) => pattern.alternatives);
    const slashed = alternatives.filter(({ hasSlash }) => hasSlash);
    // In a path with more segments than any rule, the last one doesn't change what decides.
    const longest = Math.max(0, ...alternatives.map(({ segments }) => segments.length));
    const pairs = [...readRewrite("/", "/.rsc")];
    for (let path = "", length = 1; length <= longest; length += 1) {
      path += `/:part${length}`;
      pairs.push(...readRewrite(path, `${path}.rsc`));
      // The guard sees `/x/` instead of `/x/.rsc`, and refuses it if its rule doesn't end with a slash.
      for (const client of slashed.flatMap(({ segments }) =>
        alternativesOf(path).flatMap((each) => commonPatterns(segments, each)),
      ))
        pairs.push({ client, target: [...client, { kind: "static", text: ".rsc" }] });
    }
    return pairs;
  },
};

const addRemark = (route: ListedRoute, remark: AuditFinding): void => recordFinder(route, () => [remark]);

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

interface Opened {
  readonly path: string;
  readonly target: ListedRoute;
  readonly rule: string;
}

/** Finds the routes that a rewrite opens, each once. Of the files with the same rules, it finds one. */
function* findOpened(table: CheckedTable, rewrite: Rewrite, fate: UnmappedRoutes): Iterable<Opened> {
  const rulesOfFiles = new Set<string>();
  for (const target of rewrite.isGuarded ? rewrite.targets : [])
    for (const pair of rewrite
      .pairsFor(table)
      .flatMap((each) => alternativesOf(target.pattern).flatMap((route) => narrow(each, "target", route)))) {
      const rule = findWeaker(table, rewrite, target, pair, fate);
      if (rule === undefined || rulesOfFiles.has(rule)) continue;
      if (target.serves === SERVES.publicFile) rulesOfFiles.add(rule);
      const path = renderPattern({ segments: pair[rewrite.shown], hasSlash: false });
      yield { path: path.replaceAll(/"(\w+)~[~\d]*"/g, "$1"), target, rule };
      break;
    }
}

/** Returns what decides a part of these paths instead of a rule of the route that requires more. */
function findWeaker(
  table: CheckedTable,
  { isGuarded, paths }: Rewrite,
  target: ListedRoute,
  pair: PathPair,
  fate: UnmappedRoutes,
): string | undefined {
  const runsNarrower = createNarrowerCheck(paths, target.pattern);
  for (const method of methodsOf(table, target))
    for (const required of requiredPlaces(table, method, pair.target))
      for (const part of narrow(pair, "target", required.segments)) {
        if (runsNarrower(part.target)) continue;
        const strength = strengthOf(required.compiled);
        if (strength > 0 && !isGuarded?.(part.client)) return "without protect";
        if (fate !== "refused" && strength > 1 && !findRouteRules(table.tree, method, part.client)[0])
          return "without a rule";
        const deciding = findWeakerRule(table, { method, required, part, runsNarrower });
        const { key } = required.compiled.rule;
        if (deciding?.rule.key === key) return `by \`${key}\` for another value`;
        if (deciding) return `by \`${deciding.rule.key}\` instead of \`${key}\``;
      }
  return undefined;
}

/** Returns the methods of requests that run a route; `*` stands for those that no rule names. */
function methodsOf(table: CheckedTable, route: ListedRoute): readonly string[] {
  const methods = new Set([route.method, ...table.rules.map(({ rule }) => rule.method)]);
  // Next.js renders a page for every method.
  return [...methods].filter((method) => route.serves === SERVES.page || appliesTo(route, method));
}

/** Creates the check whether a path runs a narrower route than the one with this pattern. */
function createNarrowerCheck(paths: readonly Segments[], pattern: string): (path: Segments) => boolean {
  const wide = alternativesOf(pattern).filter((path) => path.some(({ kind }) => kind !== "static"));
  if (wide.length === 0) return () => false;
  const narrower = paths.filter((path) =>
    wide.some((each) => covers(each, path) && identityOf(each) !== identityOf(path)),
  );
  return (path) => narrower.some((each) => covers(each, path));
}

interface RewrittenPart {
  readonly method: string;
  /** A rule that decides requests for the route. */
  readonly required: Leaf;
  /** The paths for which it decides. */
  readonly part: PathPair;
  readonly runsNarrower: (path: Segments) => boolean;
}

/** Finds the rule for a path of the client that doesn't imply the rule of the route. */
function findWeakerRule(
  table: CheckedTable,
  { method, required, part, runsNarrower }: RewrittenPart,
): CompiledRule | undefined {
  for (const deciding of placesOf(table, method, part.client))
    for (const both of narrow(part, "client", deciding.segments)) {
      if (runsNarrower(both.target)) continue;
      const areDeciding =
        placesOf(table, method, both.client).includes(deciding) &&
        requiredPlaces(table, method, both.target).includes(required);
      if (areDeciding && !isImplied(table, method, deciding, required, both)) return deciding.compiled;
    }
  return undefined;
}

/** Returns the rules that decide some requests of a method for a path. */
const placesOf = ({ tree }: CheckedTable, method: string, path: Segments): readonly Leaf[] =>
  [...overlappingLeaves(tree.root, path)].filter((leaf) =>
    commonPatterns(leaf.segments, path).some((common) => findRouteRules(tree, method, common)[0] === leaf),
  );

/** For a method without a rule, the rule for GET counts, because the response is the same. */
const requiredPlaces = (table: CheckedTable, method: string, path: Segments): readonly Leaf[] =>
  [method, ...(findRouteRules(table.tree, method, path)[0] ? [] : ["GET"])].flatMap((each) =>
    placesOf(table, each, path),
  );

/** Returns whether all callers who satisfy a rule at the client's path satisfy the other at the target. */
function isImplied(
  table: CheckedTable,
  method: string,
  deciding: Leaf,
  required: Leaf,
  { client, target }: PathPair,
): boolean {
  const { compiled, segments: requiredSegments } = required;
  const width = Math.max(
    ...[client, target, deciding.segments, requiredSegments].map(({ length }) => length),
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
  const other = { compiled, segments: [...padding, ...requiredSegments] };
  const segments = [...spread(client), ...spread(target)];
  if (!implies(deciding, other, { method, segments }, table)) return false;
  return table.rules.every(({ rule, conditions, pattern }) => {
    const isExcept = ({ compiled, segments }: Leaf): boolean =>
      conditions?.except.has(ruleIdentity(compiled.rule.method, identityOf(segments))) === true;
    if (!conditions || !appliesTo(rule, method) || isExcept(required)) return true;
    return pattern.alternatives.every(({ segments }) => {
      if (commonPatterns(segments, target).length === 0) return true;
      if (!covers(segments, client) || isExcept(deciding)) return false;
      return conditions.parameters.every((name) => {
        const index = segments.findIndex((segment) => segment.kind === "parameter" && segment.name === name);
        const value = client[index];
        return value?.kind !== "wildcard" && JSON.stringify(value) === JSON.stringify(target[index]);
      });
    });
  });
}

const toText = (segment: PatternSegment): PatternSegment =>
  segment.kind === "parameter" ? { kind: "static", text: `~${segment.name}~` } : segment;
