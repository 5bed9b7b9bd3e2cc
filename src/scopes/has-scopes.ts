import { ConfigurationError, type ConfigurationIssue } from "../errors.ts";
import { GrantedScopes, splitScope } from "./scope.ts";
import { resolveScopeRules } from "./scope-rules.ts";
import { compileScopeList } from "./required-scope.ts";

/** How scopes cover others beyond the grammar; as in the options of a resource server. */
export interface HasScopesOptions {
  /** The scope that implies every scope; `null` for none. Default: `"platform:admin"`. */
  readonly adminScope?: string | null;
  /** Scopes that a scope implies, transitively. Default: `{}`. */
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Whether granted scopes cover required ones: one, all of a list, or any of `{ anyOf }`. For code that checks scopes by
 * itself, with the same meaning as the table. It verifies no token, and fills in no `<parameter>`.
 *
 * @throws ConfigurationError when a required scope is one that no token can be granted, or the options are wrong
 * @example
 * ```ts
 * import { hasScopes } from "scopegate";
 *
 * hasScopes(["agents:*:read"], "agents:web:read"); // true
 * hasScopes(["agents:read"], { anyOf: ["agents:run", "agents:web:read"] }); // true
 * hasScopes(["agents:web:read"], ["agents:read"]); // false
 * ```
 */
export function hasScopes(
  granted: readonly string[] | ReadonlySet<string>,
  required: string | readonly string[] | { readonly anyOf: readonly string[] },
  options: HasScopesOptions = {},
): boolean {
  const issues: ConfigurationIssue[] = [];
  const { adminScope = "platform:admin", impliedScopes = {} } = options;
  const rules = resolveScopeRules(adminScope, impliedScopes, (issue) => issues.push(issue));
  if (issues.length > 0) throw new ConfigurationError(issues);
  const scopes = new GrantedScopes(granted, rules);
  const isAnyOf = typeof required === "object" && "anyOf" in required;
  const texts = typeof required === "string" ? [required] : isAnyOf ? required.anyOf : required;
  const covered = compileScopeList(texts, new Set()).map(
    ({ text }) => scopes.find(splitScope(text), text) !== undefined,
  );
  return isAnyOf ? covered.includes(true) : !covered.includes(false);
}
