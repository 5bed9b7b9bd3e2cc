import { type PathReading } from "../request.ts";
import { findMatchedRoute, type MatchedRoute } from "./matched-route.ts";
import { type CompiledRule } from "./rule.ts";

/** A framework has as many patterns as it has routes; a caller that invents them must not fill the memory. */
const MAX_ROUTES = 10_000;

/** By the pattern, then by the method: texts that frameworks keep are not hashed again, as one made of both would be. */
type ByPattern = Map<string, Map<string, MatchedRoute | undefined>>;

/** The rules for the routes that frameworks tell, each looked for once. */
export class MatchedRoutes {
  readonly #rules: readonly CompiledRule[];
  readonly #inOwnCase: ByPattern = new Map();
  readonly #inAnyCase: ByPattern = new Map();
  #count = 0;

  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules;
  }

  find(method: string, pattern: string, { ignoreCase }: PathReading): MatchedRoute | undefined {
    const known = (ignoreCase ? this.#inAnyCase : this.#inOwnCase).get(pattern);
    return known?.has(method) ? known.get(method) : this.#add(method, pattern, ignoreCase ?? false);
  }

  #add(method: string, pattern: string, ignoreCase: boolean): MatchedRoute | undefined {
    if (this.#count >= MAX_ROUTES) this.#clear();
    const routes = ignoreCase ? this.#inAnyCase : this.#inOwnCase;
    const found = findMatchedRoute(this.#rules, method, pattern, ignoreCase);
    const byMethod = routes.get(pattern) ?? new Map<string, MatchedRoute | undefined>();
    routes.set(pattern, byMethod.set(method, found));
    this.#count += 1;
    return found;
  }

  #clear(): void {
    this.#inOwnCase.clear();
    this.#inAnyCase.clear();
    this.#count = 0;
  }
}
