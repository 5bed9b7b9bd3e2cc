import { type AccessRequest } from "../request.ts";
import { type ScopeRules } from "../scopes/scope.ts";
import { allow, decideByScopeList, type Decision, refuse } from "./decision.ts";
import { compileScopeList, type RequiredScope } from "../scopes/required-scope.ts";

/** The scope lists that stand in routes, each compiled when it is first asked for. */
const compiledLists = new WeakMap<readonly string[], readonly RequiredScope[]>();

/**
 * Decides whether the caller of an allowed request holds the scopes that a route asks for itself. Without rules scopes are
 * not checked. Throws for a route that could never let anyone in.
 */
export function decideRouteScopes(
  decision: Decision,
  scopes: readonly string[],
  params: AccessRequest["params"],
  rules: ScopeRules | null,
): Decision {
  if (!decision.allowed) return decision;
  const { rule, principal } = decision;
  const facts = rule ? { rule } : {};
  if (rule?.requirement === "public") {
    throw new Error(`\`${rule.key}\` is public: no token is read there that could hold scopes.`);
  }
  if (!principal) return refuse("credential_missing", facts);
  if (!rules) return allow({ ...facts, principal });
  const compiled = compiledLists.get(scopes) ?? compileScopeList(scopes, "any");
  if (Object.isFrozen(scopes)) compiledLists.set(scopes, compiled);
  return decideByScopeList(compiled, (name) => requireParameter(params, name), rules, {
    ...facts,
    principal,
  });
}

/** A parameter that the route does not have is a mistake in the program: no scope could ever be the right one. */
function requireParameter(params: AccessRequest["params"], name: string): string {
  const value = params && Object.hasOwn(params, name) ? params[name] : undefined;
  if (value === undefined) {
    throw new Error(
      `The scopes name <${name}>, which is no parameter of this route (a mounted router has its own).`,
    );
  }
  return typeof value === "string" ? value : value.join("/");
}
