import { type Path } from "../path.ts";
import { type AccessRequest, ownMember, type PathReading } from "../request.ts";
import { findMatchedRoute, type MatchedRoute } from "./matched-route.ts";
import { type IndexMatch, RouteIndex } from "./route-index.ts";
import { type CompiledRule, type Rule, type RuleMatch } from "./rule.ts";
import { type Spelling, Spellings } from "./spellings.ts";

/** The effective table: defaults and customs merged, each rule with its source, in the order of writing. */
export type RouteTable = readonly Rule[];

/**
 * The rules that a request must meet: one, unless the framework told a route of which the path has a narrower rule.
 * `"ambiguous"` where routers could read the path as one of another rule.
 */
export type RouteAnswer = readonly [RuleMatch, ...RuleMatch[]] | "unmapped" | "ambiguous";

/** A framework has as many patterns as it has routes; a caller that invents them must not fill the memory. */
const MAX_MATCHED_ROUTES = 10_000;

/** Of the routers behind the guard nothing is known. */
const UNKNOWN: PathReading = {};

interface Found {
  readonly match: IndexMatch;
  readonly kind: Spelling["kind"];
}

/** Finds the rule that decides a request. */
export class RouteFinder {
  readonly #rules: readonly CompiledRule[];
  readonly #index: RouteIndex;
  readonly #spellings: Spellings;
  readonly #matchedRoutes = new Map<string, MatchedRoute | undefined>();

  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules;
    this.#index = new RouteIndex(rules);
    this.#spellings = new Spellings(rules);
  }

  find(request: AccessRequest, path: Path): RouteAnswer {
    const { method } = request;
    // Neither own nor inherited, which is seen sooner.
    if (request.matchedPattern === undefined && request.reading === undefined)
      return this.findByPath(method, path, UNKNOWN);
    const reading = ownMember(request, "reading") ?? UNKNOWN;
    const matchedPattern = ownMember(request, "matchedPattern");
    if (matchedPattern === undefined) return this.findByPath(method, path, reading);
    const route = this.#matchedRoute(method, matchedPattern, reading);
    if (!route) return "unmapped";
    const found = this.#findAll(method, path, reading);
    if (!found) return "ambiguous";
    const own = route.match(ownMember(request, "params"), path);
    // Who writes a rule for a part of a route means it: there both are asked.
    const parts = found.map(({ match }) => match).filter((match) => match.compiled !== own.compiled);
    return [own, ...parts.filter(({ compiled }) => route.contains(compiled))];
  }

  /** The narrowest rule that covers a whole route. */
  findByRoute(method: string, pattern: string, reading: PathReading): Rule | undefined {
    return this.#matchedRoute(method, pattern, reading)?.compiled.rule;
  }

  /** The narrowest rule for a path that every reading of the path leads to. */
  findByPath(method: string, path: Path, reading: PathReading): RouteAnswer {
    if (this.#spellings.isOnlyOne(path)) {
      const match = this.#index.find(method, path.text);
      if (!match) return "unmapped";
      return match.isCertain ? [match] : "ambiguous";
    }
    const found = this.#findAll(method, path, reading);
    if (!found || found.length > 1) return "ambiguous";
    const [only] = found;
    if (!only) return "unmapped";
    return only.match.isCertain && isTrusted(only) ? [only.match] : "ambiguous";
  }

  /** What the readings of a path lead to, the best reading first and each decision once. */
  #findAll(method: string, path: Path, reading: PathReading): readonly Found[] | undefined {
    const spellings = this.#spellings.of(path, reading);
    const found = new Map<string, Found>();
    for (const { path: spelled, replacements, kind } of spellings ?? []) {
      const match = this.#index.find(method, spelled, replacements);
      if (match && !found.has(match.compiled.meaning)) found.set(match.compiled.meaning, { match, kind });
    }
    return spellings && [...found.values()];
  }

  #matchedRoute(method: string, pattern: string, { ignoreCase }: PathReading): MatchedRoute | undefined {
    const key = `${ignoreCase ? "any" : "own"} case ${method} ${pattern}`;
    if (this.#matchedRoutes.has(key)) return this.#matchedRoutes.get(key);
    const found = findMatchedRoute(this.#rules, method, pattern, ignoreCase);
    if (this.#matchedRoutes.size >= MAX_MATCHED_ROUTES) this.#matchedRoutes.clear();
    this.#matchedRoutes.set(key, found);
    return found;
  }
}

/**
 * Whether the reading that led to a rule is one to rely on. A rule that lets everyone in needs the exact spelling: a
 * stricter handler behind the guard may serve another one without any rule.
 */
function isTrusted({ match, kind }: Found): boolean {
  const { requirement } = match.compiled;
  const isOpen = requirement.kind === "public" || requirement.kind === "optional";
  return kind === "exact" || (kind === "declared" && !isOpen);
}

/** The public face of a table. */
export const createRouteTable = (rules: readonly CompiledRule[]): RouteTable =>
  Object.freeze(rules.map(({ rule }) => rule));
