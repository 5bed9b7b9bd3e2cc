import { compileScopeList, type RequiredScope } from "../scopes/required-scope.ts";
import type { ScopeRules } from "../scopes/granted-scopes.ts";
import type { AccessRequest } from "../request.ts";
import { allow, decideByScopes, type Decision, refuse } from "./decision.ts";

/** The arrays of scopes that `requireScopes` was called with, each compiled once. */
const compiledLists = new WeakMap<readonly string[], readonly RequiredScope[]>();

/**
 * Decides whether an allowed caller holds the scopes that a route adds. With `authorization: false`, it
 * checks none.
 * @throws Error for a route that could never allow a caller
 */
export function decideRouteScopes(
  decision: Decision,
  scopes: readonly string[],
  params: AccessRequest["params"],
  scopeRules: ScopeRules | null,
): Decision {
  if (!decision.allowed) return decision;
  const { rules, principal } = decision;
  if (!principal) {
    const publicRule = rules.find(({ requirement }) => requirement === "public");
    if (publicRule)
      throw new Error(
        `\`${publicRule.key}\` is public: no token is read there, so no caller has scopes. Remove requireScopes, or change the rule.`,
      );
    return refuse("credential_missing", rules);
  }
  if (!scopeRules) return allow(rules, principal);
  const compiled = compiledLists.get(scopes) ?? compileScopeList(scopes, "any");
  if (Object.isFrozen(scopes)) compiledLists.set(scopes, compiled);
  const parameter = (name: string) => requireParameter(params, name);
  return decideByScopes(compiled, parameter, scopeRules, { rules, principal });
}

/** A parameter that the route doesn't have is a programming error: no granted scope could satisfy it. */
function requireParameter(params: AccessRequest["params"], name: string): string {
  const value = params && Object.hasOwn(params, name) ? params[name] : undefined;
  if (value === undefined)
    throw new Error(
      `The required scopes name <${name}>, which isn't a parameter of this route. A mounted router has its own parameters.`,
    );
  return typeof value === "string" ? value : value.join("/");
}
