/** Refuses what a test says wrongly, with the fix: a test that asks for nothing by mistake would pass. */
import {
  ConfigurationError,
  type ConfigurationIssue,
  type ConfigurationIssueCode,
  suggest,
} from "../errors.ts";
import { isScopeToken, splitScope } from "../scopes/scope.ts";

/** The error for one mistake in a call; `path` begins with the name of what was called. */
export function mistake(
  path: ConfigurationIssue["path"],
  message: string,
  hint: string,
  code: ConfigurationIssueCode = "option_invalid",
): ConfigurationError {
  return new ConfigurationError([{ code, path, message, hint }]);
}

/** @throws ConfigurationError for a value that is no object, and for a name that is not one of these */
export function requireNames(call: string, given: unknown, names: readonly string[]): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw mistake([call], "takes an object.", `Its members are ${names.join(", ")}.`);
  }
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    const hint = suggest(name, names, `It takes ${names.join(", ")}.`);
    throw mistake([call, name], `received unknown option \`${name}\`.`, hint, "option_unknown");
  }
}

/** @throws ConfigurationError for scopes that would grant nothing, whatever a route asks */
export function requireGrantable(call: string, scopes: unknown): void {
  const list: unknown = typeof scopes === "string" ? scopes.split(" ").filter((one) => one !== "") : scopes;
  if (!Array.isArray(list)) {
    throw mistake([call, "scopes"], "are no list.", 'Write them as `["agents:read"]`.', "scope_invalid");
  }
  for (const scope of list as readonly unknown[]) {
    if (typeof scope === "string" && isGrantable(scope)) continue;
    const template = typeof scope === "string" && /<\w*>/.test(scope);
    const hint = template
      ? "Write the id that is granted instead of the parameter: `agents:web:read`, or `agents:*:read` for every id."
      : "Write `resource:action`, `resource:id:action` or another scope-token without empty parts. To send it all the same, write it in the `claims` of a token.";
    throw mistake(
      [call, "scopes"],
      `${JSON.stringify(scope)} is a scope that grants nothing.`,
      hint,
      "scope_invalid",
    );
  }
}

const isGrantable = (scope: string): boolean =>
  isScopeToken(scope) && !splitScope(scope).includes("") && !/<\w*>/.test(scope);
