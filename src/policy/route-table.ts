import { type AccessRequest, type PathReading, type PathSegments } from "../request.ts";
import { findMatchedRoute, type MatchedRoute } from "./matched-route.ts";
import { type IndexReading, RouteIndex } from "./route-index.ts";
import { type CompiledRule, type Rule, type RuleMatch } from "./rule.ts";

/** The effective table: defaults and customs merged, each rule with its source, in the order of writing. */
export type RouteTable = readonly Rule[];

/** The rule of a request; `"ambiguous"` where two ways to read its path lead to two rules. */
export type RouteAnswer = RuleMatch | "unmapped" | "ambiguous";

const EXACT: PathReading = { ignoreCase: false, ignoreTrailingSlash: false };
const LENIENT: PathReading = { ignoreCase: true, ignoreTrailingSlash: true };

/** A framework has as many patterns as it has routes; a caller that invents them must not fill the memory. */
const MAX_MATCHED_ROUTES = 10_000;

/** Finds the rule that decides a request. */
export class RouteFinder {
  readonly #rules: readonly CompiledRule[];
  readonly #indexes = new Map<string, RouteIndex>();
  readonly #matchedRoutes = new Map<string, MatchedRoute | undefined>();

  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules;
  }

  find(request: AccessRequest, path: PathSegments): RouteAnswer {
    const { method, matchedPattern, params, reading } = request;
    if (matchedPattern === undefined) return this.findByPath(method, path, reading);
    return this.#matchedRoute(method, matchedPattern)?.match(params, path) ?? "unmapped";
  }

  /** The narrowest rule for a path, unless another way to read the path leads to another rule. */
  findByPath(method: string, path: PathSegments, reading?: PathReading): RouteAnswer {
    const match = this.#index({ ...(reading ?? EXACT), decode: false }).find(method, path);
    if (!match) return "unmapped";
    if (path.every(isPlain)) return match;
    const others = [
      { ...(reading ?? LENIENT), decode: true },
      { ...EXACT, decode: false },
    ].map((other) => this.#index(other).find(method, path));
    return others.every((other) => !other || other.compiled === match.compiled) ? match : "ambiguous";
  }

  #index(reading: IndexReading): RouteIndex {
    const key = `${reading.ignoreCase} ${reading.ignoreTrailingSlash} ${reading.decode}`;
    const known = this.#indexes.get(key) ?? new RouteIndex(this.#rules, reading);
    this.#indexes.set(key, known);
    return known;
  }

  #matchedRoute(method: string, pattern: string): MatchedRoute | undefined {
    const key = `${method} ${pattern}`;
    if (this.#matchedRoutes.has(key)) return this.#matchedRoutes.get(key);
    const found = findMatchedRoute(this.#rules, method, pattern);
    if (this.#matchedRoutes.size >= MAX_MATCHED_ROUTES) this.#matchedRoutes.clear();
    this.#matchedRoutes.set(key, found);
    return found;
  }
}

/** A segment that every reading spells the same way. */
const isPlain = (segment: string): boolean => /^[^%A-Z]+$/.test(segment);

/** The public face of a table. */
export const createRouteTable = (rules: readonly CompiledRule[]): RouteTable =>
  Object.freeze(rules.map(({ rule }) => rule));
