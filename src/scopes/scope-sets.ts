import { BoundedMap } from "../runtime/bounded-map.ts";
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

/** The sets that were made for the rules of a server. */
interface Known {
  readonly sets: BoundedMap<string, ScopeSet>;
  /** What was asked for last is told by its scopes: making a name of them costs as much as reading a principal. */
  latest?: ScopeSet;
}

const knownByRules = new WeakMap<ScopeRules, Known>();
const setsByList = new WeakMap<readonly string[], ScopeSet>();

/** The set of a list of scopes, made once for the rules of a server. */
export function scopeSetOf(scopes: readonly string[], rules: ScopeRules): ScopeSet {
  const own = setsByList.get(scopes);
  if (own?.granted.rules === rules) return own;
  const known: Known = knownByRules.get(rules) ?? { sets: new BoundedMap(MAX_SETS) };
  knownByRules.set(rules, known);
  if (known.latest && isSameList(known.latest.scopes, scopes)) return known.latest;
  // No separator: any text may be a scope of a token, and two lists must not share a name. All sets of a program would.
  const name = JSON.stringify([...scopes]);
  const interned = known.sets.get(name);
  const set = interned ?? createScopeSet(scopes, rules);
  if (!interned) known.sets.set(name, set);
  known.latest = set;
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

const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((scope, index) => scope === other[index]);

function covers(granted: GrantedScopes, scope: string): boolean {
  const parts = splitScope(scope);
  return isScopeToken(scope) && !parts.includes("") && granted.find(parts, scope) !== undefined;
}
