/** Rejects mistakes in a test, with the fix: a test with a wrong option could pass for the wrong reason. */
import { optionError } from "../../core/options/option-checks.ts";
import { isScope } from "../../core/scopes/scope.ts";

/** Splits a space-delimited string of scopes. */
export const splitScopes = (scopes: string): readonly string[] =>
  scopes.split(" ").filter((scope) => scope !== "");

/** @throws ConfigurationError for a scope that grants nothing on any route */
export function requireGrantable(call: string, value: unknown): void {
  const path = [call, "scopes"];
  const scopes: unknown = typeof value === "string" ? splitScopes(value) : value;
  if (!Array.isArray(scopes))
    throw optionError(path, "must be an array.", 'Write `["agents:read"]`.', "scope_invalid");
  for (const scope of scopes as readonly unknown[]) {
    const isTemplate = typeof scope === "string" && /<\w*>/.test(scope);
    if (!isTemplate && typeof scope === "string" && isScope(scope)) continue;
    const hint = isTemplate
      ? "Write an id instead of the parameter: `agents:web:read`, or `agents:read` for every id."
      : "Write `resource:action`, `resource:id:action` or another scope-token without empty parts. To send an invalid scope, write it in the `claims` of a token.";
    throw optionError(
      path,
      `${JSON.stringify(scope)} is a scope that grants nothing.`,
      hint,
      "scope_invalid",
    );
  }
}
