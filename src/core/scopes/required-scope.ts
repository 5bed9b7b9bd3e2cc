import { ConfigurationError, type ConfigurationIssue, type Report } from "../errors.ts";
import { type Covering, coveringOf, type GrantedScopes, isScope, isScopePart, splitScope } from "./scope.ts";

/** A required scope, compiled once, at construction. */
export interface RequiredScope {
  readonly text: string;
  /** The parameter that fills the id, and the parts around the id; absent for a scope without a template. */
  readonly template?: {
    readonly resource: string;
    readonly parameter: string;
    readonly action: string;
  };
  /** The grants that cover the scope. With a template, these are the grants that cover it for every id. */
  readonly covering: readonly Covering[];
}

/** A required scope, filled with the route parameters of one request. */
export interface BoundScope {
  /** The scope with its parameter, or the template if a scope can't contain the value. Safe in a header. */
  readonly text: string;
  readonly covering: readonly Covering[];
}

/**
 * Compiles scopes that are written in code, not in the table. With `"any"`, `<name>` may be any parameter.
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
  if (typeof (text as unknown) !== "string" || !isScope(text)) {
    report({
      code: "scope_invalid",
      path,
      message: `${JSON.stringify(text)} is a scope that no token can be granted.`,
      hint: hintForScope(text, path),
    });
    return undefined;
  }
  const parts = splitScope(text);
  const names = parts.flatMap((part) => parameterIn(part) ?? []);
  const isKnown = names.every((name) => parameters === "any" || parameters.has(name));
  if (!isKnown || parts.some(isForeign)) {
    report({
      code: "template_unknown",
      path,
      message: `\`${text}\` names no parameter of its route.`,
      hint:
        parameters === "any" || parameters.size === 0
          ? `The route has no parameters: write ${withoutId(parts)}.`
          : `Write one of ${[...parameters].map((name) => `\`<${name}>\``).join(", ")} as the second of three parts.`,
    });
    return undefined;
  }
  const [resource = "", id = "", action = ""] = parts;
  const parameter = parts.length === 3 ? parameterIn(id) : undefined;
  if (names.length > (parameter === undefined ? 0 : 1)) {
    report({
      code: "template_misplaced",
      path,
      message: `\`${text}\` has a parameter outside the id, so a caller could choose more than the id.`,
      hint: "Write it as the second of three parts: `resource:<parameter>:action`.",
    });
    return undefined;
  }
  if (parameter === undefined) return { text, covering: coveringOf(parts) };
  // No scope has a colon in a part, so only grants for every id cover it.
  return { text, template: { resource, parameter, action }, covering: coveringOf([resource, ":", action]) };
}

/** The scope for every id, to write instead of a template. */
const withoutId = ([resource = "", , action = "<>"]: readonly string[]): string =>
  /[<>{}]/.test(resource + action) ? "a scope without `<` and `>`" : `\`${resource}:${action}\``;

/** Space-delimited scopes, as in a claim, are a common mistake: each must be a separate array element. */
function hintForScope(text: unknown, path: readonly (string | number)[]): string {
  const isElement = typeof path.at(-1) === "number";
  const words = isElement && typeof text === "string" ? text.split(" ").filter((word) => word !== "") : [];
  if (words.length > 1 && words.every((word) => word.includes(":") && isScope(word)))
    return `Write each scope as a separate string: ${JSON.stringify(words).replaceAll(",", ", ")}.`;
  return "Write `resource:action`, `resource:<parameter>:action` or another scope-token (RFC 6749 section 3.3) without empty parts.";
}

/**
 * Fills in the route parameter of one request. If no granted scope can contain the value, because it's empty
 * or has a colon, only a grant for every id covers the scope, and its text stays a template.
 */
export function bindScope(scope: RequiredScope, parameter: (name: string) => string): BoundScope {
  const { template, text } = scope;
  if (!template) return scope;
  const { resource, action } = template;
  const id = parameter(template.parameter);
  return {
    text: isRepeatable(id) ? `${resource}:${id}:${action}` : text,
    covering: coveringOf([resource, id, action]),
  };
}

/** Returns whether granted scopes cover a required scope in one request. */
export const isCovered = (
  scope: RequiredScope,
  parameter: (name: string) => string,
  granted: GrantedScopes,
): boolean =>
  granted.covers(scope.covering) ||
  (scope.template !== undefined && granted.covers(bindScope(scope, parameter).covering));

/** `{id}` is a parameter in other tools. Here it would be part of a scope that no token has. */
const isForeign = (part: string): boolean =>
  parameterIn(part) === undefined && /[<>]|^\$?\{\w+\}$/.test(part);

/**
 * Clients request the scopes of a challenge, so a request for the id `*` must not make them request all ids.
 * A long id could exceed the header size that clients and proxies accept.
 */
const isRepeatable = (id: string): boolean => id !== "*" && id.length <= 200 && isScopePart(id);

const parameterIn = (part: string): string | undefined => /^<(.*)>$/.exec(part)?.[1];
