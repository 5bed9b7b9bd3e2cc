import type { Report } from "../errors.ts";
import { isScopeToken, splitScope, type ScopeRules } from "./scope.ts";

/** Computes the transitive closure of the scope hierarchy, and reports invalid scopes and cycles. */
export function resolveScopeRules(
  adminScope: string | null,
  impliedScopes: Readonly<Record<string, readonly string[]>>,
  report: Report,
): ScopeRules {
  const isValid = (path: readonly string[], scope: string): boolean => {
    const mistake = findScopeMistake(scope);
    if (mistake) report({ code: "scope_invalid", path, ...mistake });
    return !mistake;
  };
  if (adminScope !== null) isValid(["adminScope"], adminScope);
  const implied = new Map<string, readonly string[]>();
  const links = new Map(Object.entries(impliedScopes));
  for (const [scope, direct] of links) {
    const path = ["impliedScopes", scope];
    if (![scope, ...direct].every((name) => isValid(path, name))) continue;
    const closure = closureOf(scope, links);
    if (closure.has(scope)) {
      const hint = "Remove one link of the cycle.";
      report({ code: "implied_scopes_cycle", path, message: `\`${scope}\` implies itself.`, hint });
    }
    implied.set(scope, [...closure]);
  }
  return { adminScope, implied };
}

/** Returns why no token can be granted a scope. */
export function findScopeMistake(
  scope: string,
): { readonly message: string; readonly hint: string } | undefined {
  if (!isScopeToken(scope))
    return {
      message: `${JSON.stringify(scope)} is not a scope.`,
      hint: "Write a scope as printable ASCII without spaces, quotation marks and backslashes (RFC 6749 section 3.3).",
    };
  if (!splitScope(scope).includes("")) return undefined;
  return {
    message: `${JSON.stringify(scope)} has an empty part: no token can have it.`,
    hint: "Write a scope without empty parts, such as `platform:admin`.",
  };
}

function closureOf(scope: string, links: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  // Iterating over a set also visits the scopes that the loop adds.
  const closure = new Set(links.get(scope));
  for (const reached of closure) for (const implied of links.get(reached) ?? []) closure.add(implied);
  return closure;
}
