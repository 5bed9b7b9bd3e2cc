/** Rejects mistakes in a test, with the fix: a test with a wrong option could pass for a wrong reason. */
import { ConfigurationError, type ConfigurationIssueCode, suggest } from "../../core/errors.ts";
import { isScopeToken, splitScope } from "../../core/scopes/scope.ts";

/** Creates the error for one mistake; `path` starts with the name of the function that was called. */
export function mistake(
  path: readonly string[],
  message: string,
  hint: string,
  code: ConfigurationIssueCode = "option_invalid",
): ConfigurationError {
  return new ConfigurationError([{ code, path, message, hint }]);
}

/** @throws ConfigurationError unless `options` is an object with no keys but the comma-separated `names` */
export function requireOptions(call: string, options: unknown, names: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw mistake([call], "must be an object.", `Its properties are ${names}.`);
  const known = names.split(", ");
  const name = Object.keys(options).find((one) => !known.includes(one));
  if (name === undefined) return;
  const hint = suggest(name, known, `The options are ${names}.`);
  throw mistake([call, name], `received unknown option \`${name}\`.`, hint, "option_unknown");
}

/** Splits a space-delimited string of scopes. */
export const splitScopes = (scopes: string): readonly string[] =>
  scopes.split(" ").filter((scope) => scope !== "");

/** @throws ConfigurationError for a scope that grants nothing on any route */
export function requireGrantable(call: string, given: unknown): void {
  const path = [call, "scopes"];
  const scopes: unknown = typeof given === "string" ? splitScopes(given) : given;
  if (!Array.isArray(scopes))
    throw mistake(path, "must be an array.", 'Write `["agents:read"]`.', "scope_invalid");
  for (const scope of scopes as readonly unknown[]) {
    const isTemplate = typeof scope === "string" && /<\w*>/.test(scope);
    if (!isTemplate && typeof scope === "string" && isScopeToken(scope) && !splitScope(scope).includes(""))
      continue;
    const hint = isTemplate
      ? "Write an id instead of the parameter: `agents:web:read`, or `agents:*:read` for every id."
      : "Write `resource:action`, `resource:id:action` or another scope-token without empty parts. To send an invalid scope, write it in the `claims` of a token.";
    throw mistake(path, `${JSON.stringify(scope)} is a scope that grants nothing.`, hint, "scope_invalid");
  }
}
