import { ConfigurationError, type ConfigurationIssue, type Report } from "../errors.ts";
import type { GrantedScopes } from "./granted-scopes.ts";
import { type Covering, coveringOf, isScope, isScopePart, splitScope } from "./scope.ts";

/** A required scope, compiled once, at construction. */
export interface RequiredScope {
  readonly text: string;
  /** The parts of a scope with a template; absent for others. */
  readonly template?: {
    readonly resource: string;
    /** The parameter that fills the id; `undefined` for `<any>`, for which a grant for one id is enough. */
    readonly parameter: string | undefined;
    readonly action: string;
  };
  /** The grants that cover the scope. With a parameter, these are the grants that cover it for every id. */
  readonly covering: readonly Covering[];
}

/** A required scope, filled with the route parameters of one request. */
export interface BoundScope {
  /** Safe in a header: a template if no scope can contain the value, and `agents:read` for `<any>`. */
  readonly text: string;
  readonly covering: readonly Covering[];
}

/** Returns whether a grant for one id is enough: `agents:<any>:read`. */
export const isForSomeIds = ({ template }: RequiredScope): boolean =>
  template !== undefined && template.parameter === undefined;

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

/** In `agents:<any>:read`, one id is enough. */
export const ANY = "any";

/** Compiles a required scope, or reports why no token can have it. Only a list may require `<any>`. */
export function compileScope(
  text: string,
  parameters: ReadonlySet<string> | "any",
  path: readonly (string | number)[],
  report: Report,
  isList = false,
): RequiredScope | undefined {
  const mistake = findMistake(text, parameters, isList);
  if (mistake) {
    report({ path, ...mistake });
    return undefined;
  }
  const parts = splitScope(text);
  const [resource = "", id = "", action = ""] = parts;
  const name = parts.length === 3 ? parameterIn(id) : undefined;
  // No scope has a colon in a part, so only grants for every id cover a template.
  const covering = coveringOf(name === undefined ? parts : [resource, ":", action]);
  if (name === undefined) return { text, covering };
  if (name !== ANY) return { text, template: { resource, parameter: name, action }, covering };
  const someIds: Covering = { text: `${resource}:${action}`, by: "some-ids" };
  return {
    text,
    template: { resource, parameter: undefined, action },
    covering: [...coveringOf([resource, action]), someIds],
  };
}

function findMistake(
  text: string,
  parameters: ReadonlySet<string> | "any",
  isList: boolean,
): Omit<ConfigurationIssue, "path"> | undefined {
  const mistake = (message: string, hint: string) => ({ code: "scope_invalid", message, hint }) as const;
  if (typeof (text as unknown) !== "string" || !isScope(text) || text.includes(","))
    return mistake(`${JSON.stringify(text)} is a scope that no token can have.`, hintForScope(text));
  const parts = splitScope(text);
  const names = [...text.matchAll(/<([^<>]*)>/g)].map(([, name = ""]) => name);
  const templates = parameters === "any" ? ["<parameter>"] : Array.from(parameters, (name) => `<${name}>`);
  if (!names.every((name) => name === ANY || parameters === "any" || parameters.has(name)))
    return mistake(
      `\`${text}\` names no parameter of its route.`,
      templates.length === 0 ? "The route has none." : `Write one of \`${templates.join("`, `")}\`.`,
    );
  const [resource = "", id = "", action = "", ...rest] = parts;
  const isWithId = action !== "" && rest.length === 0;
  if (parts.some(isForeign) || names.length > (isWithId && parameterIn(id) !== undefined ? 1 : 0))
    return mistake(`\`${text}\` misplaces or misspells a parameter.`, "Write `resource:<parameter>:action`.");
  // For one item, a caller with the scope for any id could read or change the items of all other ids.
  if (isWithId && (id === "*" || (names.includes(ANY) && !isList))) {
    const template = isList ? `<${ANY}>` : templates.at(-1);
    return mistake(
      `\`${text}\` can't be required here.`,
      `Write ${template === undefined ? "" : `\`${resource}:${template}:${action}\` or `}\`${resource}:${action}\`. \`<any>\` is for lists: GET paths that end with a text, and MCP.`,
    );
  }
  return undefined;
}

/** Several scopes in one string, as in a claim, are a common mistake: each must be an element. */
function hintForScope(text: unknown): string {
  const words = String(text).match(/[^ ,]+/g) ?? [];
  if (words.length > 1)
    return `Write a string for each scope: ${JSON.stringify(words).replaceAll(",", ", ")}.`;
  return "Write `resource:action`, `resource:<parameter>:action` or another scope-token of RFC 6749 without empty parts.";
}

/**
 * Fills in the route parameter of one request. If no granted scope can contain the value, because it's empty
 * or has a colon, only a grant for every id covers the scope, and its text stays a template.
 */
export function bindScope(scope: RequiredScope, parameter: (name: string) => string): BoundScope {
  const { template, text, covering } = scope;
  if (!template) return scope;
  const { resource, action } = template;
  if (template.parameter === undefined) return { text: `${resource}:${action}`, covering };
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

const parameterIn = (part: string): string | undefined => /^<([^<>]*)>$/.exec(part)?.[1];
