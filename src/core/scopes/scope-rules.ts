import type { Report } from "../errors.ts";
import type { ScopeRules } from "./granted-scopes.ts";
import { isScopeToken, splitScope } from "./scope.ts";

/** Computes the transitive closure of the scope hierarchy, and reports invalid scopes and cycles. */
export function resolveScopeRules(
  adminScope: string | null,
  impliedScopes: Readonly<Record<string, readonly string[]>>,
  report: Report,
): ScopeRules {
  const isValid = (path: readonly string[], scope: string, find = findScopeMistake): boolean => {
    const mistake = find(scope);
    if (mistake) report({ code: "scope_invalid", path, ...mistake });
    return !mistake;
  };
  if (adminScope !== null) isValid(["adminScope"], adminScope);
  const implied = new Map<string, readonly string[]>();
  const links = new Map(Object.entries(impliedScopes));
  for (const [scope, direct] of links) {
    const path = ["impliedScopes", scope];
    const names = [scope, ...direct];
    if (!names.every((name) => isValid(path, name, findHierarchyMistake))) continue;
    const closure = closureOf(scope, links);
    if (closure.has(scope)) {
      const hint = "Remove one link of the cycle.";
      report({ code: "implied_scopes_cycle", path, message: `\`${scope}\` implies itself.`, hint });
    }
    implied.set(scope, [...closure]);
  }
  return { adminScope, implied };
}

/** Explains why no token can be granted a scope. */
export function findScopeMistake(
  scope: string,
): { readonly message: string; readonly hint: string } | undefined {
  if (!isScopeToken(scope))
    return {
      message: `${JSON.stringify(scope)} isn't a scope.`,
      hint: "Write a scope as printable ASCII without spaces, quotation marks and backslashes (RFC 6749 section 3.3).",
    };
  if (scope.includes(","))
    return {
      message: `${JSON.stringify(scope)} has a comma.`,
      hint: "Write a string for each scope.",
    };
  const parts = splitScope(scope);
  if (parts.includes(""))
    return {
      message: `${JSON.stringify(scope)} has an empty part: no token can have it.`,
      hint: "Write a scope without empty parts, such as `platform:admin`.",
    };
  if (parts.some((part) => /^<.*>$/.test(part)))
    return {
      message: `${JSON.stringify(scope)} is a template: no token can have it.`,
      hint: "Write `resource:action` for every id, such as `agents:read`.",
    };
  const hasWideId = parts.length === 3 && parts[1] === "*";
  if (scope !== "*" && parts.some((part, index) => part.includes("*") && !(hasWideId && index === 1)))
    return {
      message: `${JSON.stringify(scope)} isn't a wildcard: \`*\` stands for every id, and for nothing else.`,
      hint: "Write one scope for each action, such as `agents:read` or `agents:*:read`.",
    };
  return undefined;
}

/** A hierarchy of two-part scopes also applies to each id, so it must not be written for ids. */
function findHierarchyMistake(scope: string): ReturnType<typeof findScopeMistake> {
  const [resource, id, action] = splitScope(scope);
  if (action === undefined || id === undefined || !/[*<>{}]/.test(id)) return findScopeMistake(scope);
  return {
    message: `${JSON.stringify(scope)} is a hierarchy for ids.`,
    hint: `Write \`${resource}:${action}\`: a hierarchy for a resource also applies to each of its ids.`,
  };
}

function closureOf(scope: string, links: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  // Iteration over a set also visits the scopes that the loop adds.
  const closure = new Set(links.get(scope));
  for (const reached of closure) for (const implied of links.get(reached) ?? []) closure.add(implied);
  return closure;
}
