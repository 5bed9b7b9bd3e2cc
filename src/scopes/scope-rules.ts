import { type ConfigurationIssue, type Report } from "../errors.ts";
import { isScopeToken, splitScope, type ScopeRules } from "./scope.ts";

/** Resolves the scope hierarchy to its transitive closure and reports what cannot be one. */
export function resolveScopeRules(
  adminScope: string | null,
  impliedScopes: Readonly<Record<string, readonly string[]>>,
  report: Report,
): ScopeRules {
  const adminMistake = adminScope === null ? undefined : findMistake(["adminScope"], adminScope);
  if (adminMistake) report(adminMistake);
  const implied = new Map<string, readonly string[]>();
  const links = new Map(Object.entries(impliedScopes));
  for (const [scope, direct] of links) {
    const [mistake] = [scope, ...direct].flatMap((text) => findMistake(["impliedScopes", scope], text) ?? []);
    if (mistake) {
      report(mistake);
      continue;
    }
    const closure = closureOf(scope, links);
    if (closure.has(scope)) {
      report({
        code: "implied_scopes_cycle",
        path: ["impliedScopes", scope],
        message: `\`${scope}\` implies itself.`,
        hint: "Remove one link of the circle: a hierarchy has a top.",
      });
    }
    implied.set(scope, [...closure]);
  }
  return { adminScope, implied };
}

/** Why no token can be granted a scope, or no other can imply it. */
function findMistake(path: readonly string[], text: string): ConfigurationIssue | undefined {
  if (!isScopeToken(text))
    return {
      code: "scope_invalid",
      path,
      message: `${JSON.stringify(text)} is not a scope.`,
      hint: "Write a scope as printable ASCII without spaces, quotation marks and backslashes (RFC 6749 section 3.3).",
    };
  if (!splitScope(text).includes("")) return undefined;
  return {
    code: "scope_invalid",
    path,
    message: `${JSON.stringify(text)} has an empty part: no token can be granted it.`,
    hint: "Write a scope without empty parts, such as `platform:admin`.",
  };
}

function closureOf(scope: string, links: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set<string>();
  const pending = [scope];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const implied of links.get(next) ?? []) {
      if (reached.has(implied)) continue;
      reached.add(implied);
      pending.push(implied);
    }
  }
  return reached;
}
