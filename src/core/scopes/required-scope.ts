import { ConfigurationError, type ConfigurationIssue, type Report } from "../errors.ts";
import { type Covering, coveringOf, type GrantedScopes, isScopePart, splitScope } from "./scope.ts";

/** One part of a required scope: a string, or the name of the route parameter that replaces it. */
export type RequiredPart = string | { readonly parameter: string };

/** A required scope, split into its parts once, at construction. */
export interface RequiredScope {
  readonly text: string;
  readonly parts: readonly RequiredPart[];
  /** The grants that cover it for all route parameters. */
  readonly covering: readonly Covering[];
}

/** A required scope with the route parameters of one request. */
export interface BoundScope {
  /** The scope with its parameters, or the template if a scope cannot contain one. Safe in a header. */
  readonly text: string;
  readonly covering: readonly Covering[];
}

/** Compiles scopes that are in code, not in the table. With `"any"`, `<name>` may be any parameter.
 * @throws ConfigurationError listing every invalid scope
 */
export function compileScopeList(
  required: readonly string[],
  parameters: ReadonlySet<string> | "any",
): readonly RequiredScope[] {
  const issues: ConfigurationIssue[] = [];
  const scopes = required.flatMap(
    (text, index) => compileScope(text, parameters, ["scopes", index], (issue) => issues.push(issue)) ?? [],
  );
  if (issues.length > 0) throw new ConfigurationError(issues);
  return scopes;
}

/** Splits a required scope into its parts, or reports why no token can have it. */
export function compileScope(
  text: string,
  parameters: ReadonlySet<string> | "any",
  path: readonly (string | number)[],
  report: Report,
): RequiredScope | undefined {
  if (typeof (text as unknown) !== "string" || !splitScope(text).every(isScopePart)) {
    report({
      code: "scope_invalid",
      path,
      message: `${JSON.stringify(text)} is a scope that no token can be granted.`,
      hint: hintForScope(text, path),
    });
    return undefined;
  }
  const parts = splitScope(text).map(readPart);
  if (parts.every((part) => isFillable(part, parameters))) {
    // A colon stands for any parameter: no scope has it in a part, so only grants for every id remain.
    const widest = parts.map((part) => (typeof part === "string" ? part : ":"));
    return { text, parts, covering: coveringOf(widest) };
  }
  report({
    code: "template_unknown",
    path,
    message: `\`${text}\` names no parameter of its route.`,
    hint:
      parameters === "any" || parameters.size === 0
        ? "Write the scope without `<` and `>`, or a whole part as `<parameter>`."
        : `Write one of ${[...parameters].map((name) => `\`<${name}>\``).join(", ")} as a whole part of the scope.`,
  });
  return undefined;
}

/** Space-delimited scopes, as in a claim, are a common mistake: each must be a separate element. */
function hintForScope(text: unknown, path: readonly (string | number)[]): string {
  const isElement = typeof path.at(-1) === "number";
  const words = isElement && typeof text === "string" ? text.split(" ").filter((word) => word !== "") : [];
  const isScope = (word: string) => word.includes(":") && splitScope(word).every(isScopePart);
  if (words.length > 1 && words.every(isScope))
    return `Write each scope as a separate string: ${JSON.stringify(words).replaceAll(",", ", ")}.`;
  return "Write `resource:action`, `resource:<parameter>:action` or another scope-token (RFC 6749 section 3.3) without empty parts.";
}

/**
 * Fills in the route parameters of one request. If no granted scope can contain a value (it is empty, or has
 * a colon), only a grant for every id covers the scope, and its text stays a template.
 */
export function bindScope(scope: RequiredScope, parameter: (name: string) => string): BoundScope {
  const parts = bindParts(scope, parameter);
  const isShown = parts.every((part, index) => part === scope.parts[index] || isRepeatable(part));
  return { text: isShown ? parts.join(":") : scope.text, covering: coveringOf(parts) };
}

/** Returns whether granted scopes cover a required scope in one request. */
export const isCovered = (
  scope: RequiredScope,
  parameter: (name: string) => string,
  granted: GrantedScopes,
): boolean => granted.covers(scope.covering) || granted.covers(coveringOf(bindParts(scope, parameter)));

const bindParts = (scope: RequiredScope, parameter: (name: string) => string): readonly string[] =>
  scope.parts.map((part) => (typeof part === "string" ? part : parameter(part.parameter)));

/** Returns whether a part is literal, or names a parameter that the route has. */
function isFillable(part: RequiredPart, parameters: ReadonlySet<string> | "any"): boolean {
  // `{id}` is a parameter in other tools. Here it would be a scope that no token has.
  if (typeof part === "string") return !/[<>]|^\$?\{\w+\}$/.test(part);
  return parameters === "any" || parameters.has(part.parameter);
}

/**
 * Clients request the scopes of a challenge: a request for the id `*` must not make them ask for all ids.
 * A long id could exceed the header size that clients and proxies accept.
 */
const isRepeatable = (part: string): boolean => part !== "*" && part.length <= 200 && isScopePart(part);

function readPart(part: string): RequiredPart {
  return part.startsWith("<") && part.endsWith(">") ? { parameter: part.slice(1, -1) } : part;
}
