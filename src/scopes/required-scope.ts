import { ConfigurationError, type ConfigurationIssue, type Report } from "../errors.ts";
import { isScopePart, splitScope } from "./scope.ts";

/** One part of a required scope: text, or the name of the route parameter that stands for it. */
export type RequiredPart = string | { readonly parameter: string };

/** A required scope, cut into its parts once, at construction. */
export interface RequiredScope {
  readonly text: string;
  readonly parts: readonly RequiredPart[];
}

/** A required scope with the parameters of one request filled in. */
export interface BoundScope {
  /** The narrowest scope that a token could be granted for it; safe to write into a header. */
  readonly text: string;
  readonly parts: readonly string[];
}

/**
 * Compiles scopes that stand in code rather than in the table; `"any"` parameters are left to the request.
 * @throws ConfigurationError
 */
export function compileScopeList(
  texts: readonly string[],
  parameters: ReadonlySet<string> | "any",
): readonly RequiredScope[] {
  const issues: ConfigurationIssue[] = [];
  const scopes = texts.flatMap(
    (text, index) => compileScope(text, parameters, ["scopes", index], (issue) => issues.push(issue)) ?? [],
  );
  if (issues.length > 0) throw new ConfigurationError(issues);
  return scopes;
}

/** Cuts a required scope into its parts, or reports why it can never be granted. */
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
      hint: hintFor(text, path),
    });
    return undefined;
  }
  const parts = splitScope(text).map(readPart);
  if (parts.every((part) => isKnown(part, parameters))) return { text, parts };
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

/** Scopes that are delimited by spaces, as a claim has them, are entries of the list here. */
function hintFor(text: unknown, path: readonly (string | number)[]): string {
  const isEntry = typeof path.at(-1) === "number";
  const several = isEntry && typeof text === "string" ? text.split(" ").filter((one) => one !== "") : [];
  return several.length > 1 && several.every((one) => one.includes(":") && splitScope(one).every(isScopePart))
    ? `Write each scope as an entry of its own: ${JSON.stringify(several).replaceAll(",", ", ")}.`
    : "Write `resource:action`, `resource:<parameter>:action` or another scope-token (RFC 6749 section 3.3) without empty parts.";
}

/**
 * Fills in the parameters of one request. A value that cannot be a part of a granted scope (it holds a colon, or is
 * empty) is kept as structure, so that only a grant for every id covers it.
 */
export function bindScope(scope: RequiredScope, parameter: (name: string) => string): BoundScope {
  if (isBound(scope)) return scope;
  const parts: string[] = [];
  let text = "";
  let isGrantable = true;
  for (const part of scope.parts) {
    const value = typeof part === "string" ? part : parameter(part.parameter);
    // In the text of a challenge a value that cannot be granted is every id, where an id stands.
    const shown = typeof part === "string" || isRepeatable(value) ? value : "*";
    if (shown !== value && !isId(scope, parts.length)) isGrantable = false;
    text += parts.length === 0 ? shown : `:${shown}`;
    parts.push(value);
  }
  return { text: isGrantable ? text : scope.text, parts };
}

const isBound = (scope: RequiredScope): scope is BoundScope =>
  scope.parts.every((part) => typeof part === "string");

function isKnown(part: RequiredPart, parameters: ReadonlySet<string> | "any"): boolean {
  // `{id}` is a parameter to other tools; here no token would ever be granted such a scope.
  if (typeof part === "string") return !/[<>]|^\$?\{\w+\}$/.test(part);
  return parameters === "any" || parameters.has(part.parameter);
}

/** A long id would make the challenge longer than clients and proxies take a header to be. */
const isRepeatable = (part: string): boolean => part.length <= 200 && isScopePart(part);

const isId = (scope: RequiredScope, index: number): boolean => scope.parts.length === 3 && index === 1;

function readPart(part: string): RequiredPart {
  return part.startsWith("<") && part.endsWith(">") ? { parameter: part.slice(1, -1) } : part;
}
