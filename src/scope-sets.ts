import { RecencyMap } from "./recency-map.ts";
import { GrantedScopes, isScopeToken, type ScopeRules, splitScope } from "./scope.ts";

/** What a list of granted scopes covers; frozen, and the same object for every token that grants the same. */
export interface ScopeSet {
  readonly scopes: readonly string[];
  readonly granted: GrantedScopes;
  readonly has: (scope: string) => boolean;
  readonly resourceIds: (resource: string, action: string) => "all" | ReadonlySet<string>;
}

/** Callers have few roles: more lists than this are rare, and then only cost the making of their index. */
const MAX_SETS = 1_000;

const setsByRules = new WeakMap<ScopeRules, RecencyMap<string, ScopeSet>>();
const setsByList = new WeakMap<readonly string[], ScopeSet>();

/** The set of a list of scopes, made once for the rules of a server. */
export function scopeSetOf(scopes: readonly string[], rules: ScopeRules): ScopeSet {
  const known = setsByList.get(scopes);
  if (known?.granted.rules === rules) return known;
  const sets = setsByRules.get(rules) ?? new RecencyMap<string, ScopeSet>(MAX_SETS);
  setsByRules.set(rules, sets);
  // No separator: any text may be a scope of a token, and two lists must not share a name.
  const name = JSON.stringify(scopes);
  const interned = sets.get(name);
  if (interned) return interned;
  const set = createScopeSet(scopes, rules);
  sets.set(name, set);
  return set;
}

function createScopeSet(given: readonly string[], rules: ScopeRules): ScopeSet {
  const granted = new GrantedScopes(given, rules);
  const scopes = Object.freeze([...given]);
  const set = Object.freeze({
    scopes,
    granted,
    has: (scope: string) => covers(granted, scope),
    resourceIds: (resource: string, action: string) => granted.resourceIds(resource, action),
  });
  setsByList.set(scopes, set);
  return set;
}

function covers(granted: GrantedScopes, scope: string): boolean {
  const parts = splitScope(scope);
  return isScopeToken(scope) && !parts.includes("") && granted.find(parts, scope) !== undefined;
}
