import { ConfigurationError, type ConfigurationIssue } from "../errors.ts";
import { GrantedScopes } from "./granted-scopes.ts";
import { coveringOf, splitScope } from "./scope.ts";
import { resolveScopeRules } from "./scope-rules.ts";
import { compileScopeList, type RequiredScope } from "./required-scope.ts";

/** The scope hierarchy, as in the options of `createResourceServer`. */
export interface HasScopesOptions {
  /** The scope that implies every scope, such as `"platform:admin"`. Default: `null`, which is none. */
  readonly adminScope?: string | null;
  /** The scopes that each scope implies, transitively. Default: `{}`. */
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Returns whether granted scopes cover a required scope, all of an array, or any of `{ anyOf }`, by the rules
 * of the scope table. For code that checks scopes itself: it verifies no token and fills in no `<parameter>`.
 *
 * @throws ConfigurationError if no token can be granted a required scope, or if the options are invalid
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
  // Own properties only, here and below: a polluted prototype must not grant a scope.
  const ownOptions = Object.assign(Object.create(null), options) as HasScopesOptions;
  const { adminScope = null, impliedScopes = {} } = ownOptions;
  const rules = resolveScopeRules(adminScope, impliedScopes, (issue) => issues.push(issue));
  if (issues.length > 0) throw new ConfigurationError(issues);
  const scopes = new GrantedScopes(granted, rules);
  const isCovered = ({ text }: RequiredScope) => scopes.covers(coveringOf(splitScope(text)));
  const { anyOf } = Object.assign(Object.create(null), required) as { readonly anyOf?: readonly string[] };
  if (anyOf) return compileScopeList(anyOf, new Set()).some(isCovered);
  return compileScopeList([required as string | readonly string[]].flat(), new Set()).every(isCovered);
}
