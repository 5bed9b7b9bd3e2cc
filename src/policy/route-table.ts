import { type Path } from "../path.ts";
import { type AccessRequest, ownMember, type PathReading } from "../request.ts";
import { MatchedRoutes } from "./matched-routes.ts";
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

/** Of the routers behind the guard nothing is known. */
const UNKNOWN: PathReading = {};

interface Found {
  readonly match: IndexMatch;
  readonly kind: Spelling["kind"];
}

/** Finds the rule that decides a request. */
export class RouteFinder {
  readonly #index: RouteIndex;
  readonly #spellings: Spellings;
  readonly #matchedRoutes: MatchedRoutes;

  constructor(rules: readonly CompiledRule[]) {
    this.#index = new RouteIndex(rules);
    this.#spellings = new Spellings(rules);
    this.#matchedRoutes = new MatchedRoutes(rules);
  }

  find(request: AccessRequest, path: Path): RouteAnswer {
    const { method } = request;
    // Neither own nor inherited, which is seen sooner.
    if (request.matchedPattern === undefined && request.reading === undefined)
      return this.findByPath(method, path, UNKNOWN);
    const reading = ownMember(request, "reading") ?? UNKNOWN;
    const matchedPattern = ownMember(request, "matchedPattern");
    if (matchedPattern === undefined) return this.findByPath(method, path, reading);
    const route = this.#matchedRoutes.find(method, matchedPattern, reading);
    if (!route) return "unmapped";
    const own = route.match(ownMember(request, "params"), path);
    if (!route.hasParts && this.#spellings.isOnlyOne(path)) return [own];
    const found = this.#findAll(method, path, reading);
    if (!found) return "ambiguous";
    // Who writes a rule for a part of a route means it: there both are asked.
    const parts = found.map(({ match }) => match).filter((match) => match.compiled !== own.compiled);
    return [own, ...parts.filter(({ compiled }) => route.contains(compiled))];
  }

  /** The narrowest rule that covers a whole route. */
  findByRoute(method: string, pattern: string, reading: PathReading): Rule | undefined {
    return this.#matchedRoutes.find(method, pattern, reading)?.compiled.rule;
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
