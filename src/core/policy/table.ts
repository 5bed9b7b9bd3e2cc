/** Finds the rules that a request must satisfy: the rule for its path, and the rule for its matched route. */
import { hasTrailingSlash, type Path, readPath } from "../request.ts";
import { BoundedMap } from "../runtime/bounded-map.ts";
import type { CompiledTable } from "./compile-rules.ts";
import { collectReadings, findPathRule, findRouteRules, MAX_RULES } from "./find-rules.ts";
import type { Governing, GoverningRules } from "./governing.ts";
import { type HandlerValues, hasOtherValue, readsPath, UNKNOWN } from "./handler-values.ts";
import type { BatchRules } from "./key-language.ts";
import { BATCHES_MISSING, isBatch } from "./operations.ts";
import { identityOf } from "./pattern.ts";
import {
  ComparablePath,
  type ComparableRoute,
  comparableRoute,
  parseRoutePattern,
} from "./route-comparison.ts";
import type { ConditionedRules } from "./condition-language.ts";
import { UNRESTRICTED } from "./restrictions.ts";
import type { ParameterSource } from "./parameters.ts";
import type { CompiledRule } from "./rule.ts";
import { type Leaf, type LeafMatch, matchesOf, type RuleTree } from "./rule-tree.ts";

const NONE: readonly [] = [];

/**
 * The limit of remembered route patterns. A framework has a few thousand at most. A program may also build
 * patterns from requests, and these must not fill the memory.
 */
const MAX_PATTERNS = 10_000;
const MAX_PATTERN_BYTES = 512 * 1024;

const ANY_PATH = `/*"${UNKNOWN}"`;

const UNKNOWN_SEGMENT = { kind: "parameter", name: UNKNOWN } as const;

/** Estimated bytes for a pattern, in addition to its characters, and for each of its segments. */
const PATTERN_BYTES = 200;
const SEGMENT_BYTES = 60;

/** How a matched route is written. */
export type RoutePattern = string | MountedPattern;

/** A pattern below a mount, of which only the request's spelling is known. */
export interface MountedPattern {
  /** The beginning of the path: it starts with a slash, and doesn't end with one. */
  readonly mount: string;
  /** The pattern of the route below the mount. */
  readonly pattern: string;
  /**
   * Whether the application writes the mount in the same way. If not, the mount may have any pattern that
   * matches the request, and every rule that may cover the route must be satisfied.
   */
  readonly isAsWritten: boolean;
}

/** One alternative of a pattern. */
interface RouteAlternative extends ComparableRoute {
  /** The narrowest rule that covers the whole alternative, by method; empty if no rule does. */
  readonly covering: Map<string, readonly Leaf[]>;
  readonly identity: string;
}

/** An alternative that the path of a request belongs to, and the path as its router reads it. */
interface MatchedRoute extends ParameterSource {
  /** The narrowest rule that covers it. Below an unknown mount, every rule that may be the narrowest. */
  readonly leaves: readonly Leaf[];
}

export class Table {
  readonly #tree: RuleTree;
  readonly #conditioned: ConditionedRules | undefined;
  readonly #patterns = new BoundedMap<string, readonly RouteAlternative[]>(MAX_PATTERNS, MAX_PATTERN_BYTES);
  /** Absent without the option `batches`: a request that looks like a batch is refused. */
  readonly batches: BatchRules | undefined;

  constructor({ tree, conditioned }: Pick<CompiledTable, "tree" | "conditioned">, batches?: BatchRules) {
    this.#tree = tree;
    this.#conditioned = conditioned;
    this.batches = batches;
  }

  /** Returns the rules for a target. If no route will be checked later, an inexact path is refused. */
  forTarget(method: string, target: string, isRouteChecked: boolean): Governing {
    const path = readPath(target);
    if (!path)
      return ambiguous("The target is too long, or has an empty or dot segment, `;`, `%2F` or the like.");
    // Most targets have no query, so they aren't batches.
    const mayBeBatch = path.text !== target && isBatch(target, path);
    const governing = mayBeBatch ? this.#forBatch(method, path) : this.forPath(method, path);
    if (isRouteChecked || governing.kind === "ambiguous" || governing.isExact) return governing;
    return ambiguous("The path isn't spelled as in the table.");
  }

  #forBatch(method: string, path: Path): Governing {
    if (!this.batches) return ambiguous(`The request looks like a batch of tRPC. ${BATCHES_MISSING}`);
    return this.batches.forBatch(path, (namedPath) => this.forPath(method, namedPath));
  }

  forPath(method: string, path: Path): Governing {
    const { leaf: narrowest, isExact, isSpelled } = findPathRule(this.#tree, method, path);
    if (!narrowest)
      return { kind: "unmapped", matches: NONE, restrictions: UNRESTRICTED, isExact: true, path };
    if (isExact) return this.#rulesFor(method, path, matchesOf(narrowest, path), true);
    const { leaves, isMapped } = collectReadings(this.#tree, method, path);
    // With one rule and no slash, every reading ends at this rule: for example `/docs` below `/docs{/*path}`.
    if (isSpelled && leaves.size === 1 && !hasTrailingSlash(path))
      return this.#rulesFor(method, path, matchesOf(narrowest, path), true);
    if (!isMapped) return ambiguous("The path matches a rule only after it is decoded.");
    if (leaves.size > MAX_RULES) return ambiguous(`More than ${MAX_RULES} rules may apply to the path.`);
    const matches: LeafMatch[] = [];
    for (const leaf of leaves) matches.push(...matchesOf(leaf, path));
    // A slash doesn't make another route, so a public page is served with and without it.
    if (!isSpelled && matches.every(({ compiled }) => isOpen(compiled)))
      return ambiguous("The rule needs no token, and the path isn't spelled as in the table.");
    return this.#rulesFor(method, path, matches, false);
  }

  #rulesFor(method: string, path: Path, matches: readonly LeafMatch[], isExact: boolean): GoverningRules {
    const restrictions = this.#conditioned?.forPath(method, path, matches) ?? UNRESTRICTED;
    return { kind: "rules", matches, restrictions, isExact, path };
  }

  /**
   * Adds the rules for a route, which has one pattern per mount, to the rules for the path. Refuses a request
   * whose handler receives another value of a parameter than a rule has read.
   */
  forRoute(
    pathRules: Governing,
    method: string,
    patterns: readonly RoutePattern[] | undefined,
    handlerValues: HandlerValues = {},
  ): Governing {
    if (pathRules.kind === "ambiguous") return pathRules;
    if (!patterns) return ambiguous("The route no longer matches the request.");
    const { path, isExact } = pathRules;
    const [pattern] = patterns;
    if (patterns.length === 1 && typeof pattern === "string") {
      const [route, other] = this.#alternatives(pattern);
      if (route && !other && isRouteOf(pathRules, route))
        return hasOtherValue(pathRules, [{ path, segments: route.segments }], handlerValues)
          ? OTHER_VALUE
          : pathRules;
    }
    const comparablePath = new ComparablePath(path);
    const matchedRoutes: MatchedRoute[] = [];
    const unreadable: string[] = [];
    for (const pattern of patterns) {
      const mounted = typeof pattern === "string" ? { mount: "", pattern, isAsWritten: true } : pattern;
      const alternatives = this.#alternatives(mounted.pattern);
      if (alternatives.length === 0) unreadable.push(mounted.pattern);
      // A pattern that can't be read, such as a regular expression, may match every path below its mount.
      for (const alternative of alternatives.length > 0 ? alternatives : this.#alternatives(ANY_PATH)) {
        const matchedRoute = this.#matchRoute(alternative, mounted, comparablePath, method);
        if (matchedRoute) matchedRoutes.push(matchedRoute);
      }
    }
    if (unreadable.length < patterns.length && matchedRoutes.length === 0)
      return ambiguous("The path doesn't match the route that the router chose.");
    const isUncovered = unreadable.length > 0 || matchedRoutes.some(({ leaves }) => leaves.length === 0);
    if (isUncovered && !isExact)
      return ambiguous("No rule covers the route, and the path isn't spelled as in the table.");
    const rules = this.#addRouteRules(pathRules, method, matchedRoutes);
    const hidesValue = handlerValues.readValue && unreadable.some(repeatsName);
    if (hidesValue && readsPath(rules)) return OTHER_VALUE;
    return hasOtherValue(rules, matchedRoutes, handlerValues) ? OTHER_VALUE : rules;
  }

  /** Returns the rules for an alternative below a mount; `undefined` if the path doesn't belong to it. */
  #matchRoute(
    alternative: RouteAlternative,
    { mount, isAsWritten }: Omit<MountedPattern, "pattern">,
    comparablePath: ComparablePath,
    method: string,
  ): MatchedRoute | undefined {
    const mountSegments = comparablePath.segmentsOfMount(mount);
    const path = mountSegments && comparablePath.readFor(alternative, mountSegments.length);
    if (!path) return undefined;
    if (mount === "")
      return { leaves: this.#coveringLeaves(alternative, method), path, segments: alternative.segments };
    // The request's spelling is only compared: it is never compiled to a pattern or remembered.
    const segments = [...mountSegments, ...alternative.segments];
    const mountLength = isAsWritten ? 0 : mountSegments.length;
    const leaves = findRouteRules(this.#tree, method, segments, mountLength);
    // Each segment of an unknown mount may be a parameter.
    const routeSegments = segments.map((segment, index) => (index < mountLength ? UNKNOWN_SEGMENT : segment));
    return { leaves, path, segments: routeSegments };
  }

  #addRouteRules(
    pathRules: GoverningRules,
    method: string,
    matchedRoutes: readonly MatchedRoute[],
  ): GoverningRules {
    const { path, matches, isExact, restrictions: ofPath } = pathRules;
    const added = new Map<CompiledRule, LeafMatch>();
    const otherPaths = new Set<Path>();
    for (const { leaves, path: pathAsRead } of matchedRoutes) {
      if (leaves.length === 0) continue;
      if (pathAsRead !== path) otherPaths.add(pathAsRead);
      // With an empty last segment, the path may reach a narrower rule than the route's.
      const readings = pathAsRead === path ? [] : collectReadings(this.#tree, method, pathAsRead).leaves;
      for (const leaf of [...leaves, ...readings])
        for (const match of matchesOf(leaf, pathAsRead))
          if (!matches.some(({ compiled }) => compiled === match.compiled)) added.set(match.compiled, match);
    }
    const deciding = [...matches, ...added.values()];
    const conditioned = this.#conditioned;
    // With an empty last segment, the path may match further rules with conditions.
    const readings = [...otherPaths].flatMap((other) => conditioned?.forPath(method, other, deciding) ?? []);
    if (added.size === 0 && readings.length === 0) return pathRules;
    const restrictions = conditioned?.addRoute(ofPath, [...added.values()], readings) ?? UNRESTRICTED;
    const kind = matches.length > 0 ? pathRules.kind : "rules";
    return { kind, matches: deciding, restrictions, isExact, path };
  }

  /** Returns the narrowest rule that covers an alternative. It's looked up once for each method. */
  #coveringLeaves({ covering, segments }: RouteAlternative, method: string): readonly Leaf[] {
    // Clients may invent methods, but only methods in the table have their own rules.
    const ruledMethod = this.#tree.ruledMethod(method);
    let leaves = covering.get(ruledMethod);
    if (!leaves) {
      leaves = findRouteRules(this.#tree, ruledMethod, segments);
      covering.set(ruledMethod, leaves);
    }
    return leaves;
  }

  /** Returns the alternatives of a pattern; empty for an unreadable pattern, such as a regular expression. */
  #alternatives(pattern: string): readonly RouteAlternative[] {
    const remembered = this.#patterns.get(pattern);
    if (remembered) return remembered;
    const alternatives = (parseRoutePattern(pattern)?.alternatives ?? []).map(
      ({ segments }): RouteAlternative => ({
        ...comparableRoute(segments),
        covering: new Map(),
        identity: identityOf(segments),
      }),
    );
    const segmentCount = alternatives.reduce((count, { segments }) => count + segments.length, 0);
    const bytes = PATTERN_BYTES + pattern.length * 4 + SEGMENT_BYTES * segmentCount;
    this.#patterns.set(pattern, alternatives, bytes);
    return alternatives;
  }
}

export const ambiguous = (cause: string): Governing => ({
  kind: "ambiguous",
  matches: NONE,
  restrictions: UNRESTRICTED,
  cause,
});

const OTHER_VALUE = ambiguous("The handler receives another value of a parameter than a rule has read.");

/**
 * Returns whether a pattern that can't be read names two parameters alike. Its handler receives only one of
 * their values, and which of them isn't known.
 */
function repeatsName(pattern: string): boolean {
  const names = pattern.match(/(?<=:|\(\?<)\w+/g) ?? [];
  return new Set(names).size < names.length;
}

/**
 * Fast path for most requests: an exact path, and a route with the pattern of its narrowest rule. The path
 * also belongs to the route, and no narrower rule covers it, because both have the same pattern.
 */
const isRouteOf = ({ kind, isExact, matches }: GoverningRules, { identity }: RouteAlternative): boolean =>
  kind === "rules" && isExact && matches[0]?.leaf?.identity === identity;

/** Returns whether a rule allows requests without a token. */
const isOpen = ({ requirement: { kind } }: CompiledRule): boolean => kind === "public" || kind === "optional";
