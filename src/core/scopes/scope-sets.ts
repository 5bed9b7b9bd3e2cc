import { BoundedMap } from "../runtime/bounded-map.ts";
import { GrantedScopes, type ScopeRules } from "./granted-scopes.ts";

/** Most services have few roles. A set that was evicted is built again. */
const MAX_SETS = 1_000;
const MAX_SETS_BYTES = 4 * 1024 * 1024;

/** The size of a set without grants, and the maximum that each grant adds, in bytes. */
const SET_BYTES = 800;
const GRANT_BYTES = 120;

/** The sets of one resource server. */
interface ServerSets {
  readonly sets: BoundedMap<string, GrantedScopes>;
  /** Compared first, by its scopes: building a cache key costs as much as reading a principal. */
  latest?: GrantedScopes;
}

const serverSetsByRules = new WeakMap<ScopeRules, ServerSets>();
const setsByScopes = new WeakMap<readonly string[], GrantedScopes>();

/** Returns the set for an array of scopes; equal arrays with the same rules share one set. */
export function scopeSetOf(scopes: readonly string[], rules: ScopeRules): GrantedScopes {
  const setOfArray = setsByScopes.get(scopes);
  if (setOfArray?.rules === rules) return setOfArray;
  let server = serverSetsByRules.get(rules);
  if (!server) {
    server = { sets: new BoundedMap(MAX_SETS, MAX_SETS_BYTES) };
    serverSetsByRules.set(rules, server);
  }
  if (server.latest && isEqual(server.latest.scopes, scopes)) return server.latest;
  // JSON, because a token's scope may be any string, including a separator, and two arrays must not share a
  // key. A copy, because a `Set` from untyped code would always become `{}`.
  const key = JSON.stringify([...scopes]);
  let set = server.sets.get(key);
  if (!set) {
    set = new GrantedScopes(scopes, rules);
    setsByScopes.set(set.scopes, set);
    server.sets.set(key, set, SET_BYTES + 2 * key.length + GRANT_BYTES * set.count);
  }
  server.latest = set;
  return set;
}

/** Reads only `scopes`: the `has` of another server's principal, or of a test's object, has no effect. */
export const grantedScopesOf = (
  principal: { readonly scopes: readonly string[] },
  rules: ScopeRules,
): GrantedScopes => scopeSetOf(principal.scopes, rules);

const isEqual = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((scope, index) => scope === right[index]);
