import { GrantedScopes, type ScopeRules } from "./granted-scopes.ts";

export const NO_HIERARCHY: ScopeRules = { adminScope: null, implied: new Map() };

/**
 * Creates the function that drops the scopes which an issuer can't grant: those that its ceiling doesn't
 * cover, and the admin scope if the ceiling doesn't name it. Without `mayGrantAdmin`, every scope that
 * implies the admin scope is dropped.
 */
export function createCeiling(ceiling: readonly string[], rules: ScopeRules, mayGrantAdmin: boolean) {
  const limit = new GrantedScopes(ceiling, NO_HIERARCHY);
  const isGrantable = (scope: string): boolean => {
    if (!limit.has(scope)) return false;
    if (mayGrantAdmin) return scope !== rules.adminScope || ceiling.includes(scope);
    // Without a required scope, only the admin scope covers.
    return !new GrantedScopes([scope], rules).covers([]);
  };
  return (scopes: readonly string[]): readonly string[] =>
    scopes.every(isGrantable) ? scopes : scopes.filter(isGrantable);
}
