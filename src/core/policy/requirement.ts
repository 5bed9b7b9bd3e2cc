import type { Report } from "../errors.ts";
import { compileScope, type RequiredScope } from "../scopes/required-scope.ts";
import { splitScope } from "../scopes/scope.ts";
import type { Pattern } from "./pattern.ts";

/**
 * What a route requires of its caller:
 *
 * - an array of scopes: all of them; `[]` requires a valid token and no scope
 * - `{ anyOf }`: at least one of them
 * - `{ filtered }`: a `resource:action`, granted for all ids *or for at least one*; the handler then filters
 *   its result by `principal.resourceIds(resource, action)`. Only for GET and HEAD of a path that doesn't end
 *   with a parameter, and for lists and single tools of MCP
 * - `"optional"`: nothing, but a token that is sent must be valid
 * - `"public"`: nothing, and no token is read
 *
 * In a scope, `<name>` as the second of three parts stands for the route parameter of that name:
 * `agents:<agent_id>:run`.
 */
export type Requirement =
  | readonly string[]
  | { readonly anyOf: readonly string[] }
  | { readonly filtered: string }
  | "optional"
  | "public";

/** A requirement, compiled. */
export type CompiledRequirement =
  | { readonly kind: "public" }
  | { readonly kind: "optional" }
  | { readonly kind: "allOf" | "anyOf"; readonly scopes: readonly RequiredScope[] }
  | {
      readonly kind: "filtered";
      readonly scope: RequiredScope;
      readonly resource: string;
      readonly action: string;
    };

/** What a rule without scopes requires of every caller. */
export const VALID_TOKEN: CompiledRequirement = { kind: "allOf", scopes: [] };

/** Returns how much a requirement demands. Two requirements of one class may name different scopes. */
export function classOf(requirement: CompiledRequirement): "nothing" | "token" | "scopes" {
  switch (requirement.kind) {
    case "public":
    case "optional":
      return "nothing";
    case "allOf":
      return requirement.scopes.length === 0 ? "token" : "scopes";
    case "anyOf":
    case "filtered":
      return "scopes";
  }
}

/** Returns the scopes that a requirement names. */
export function scopesOf(requirement: CompiledRequirement): readonly RequiredScope[] {
  switch (requirement.kind) {
    case "public":
    case "optional":
      return [];
    case "allOf":
    case "anyOf":
      return requirement.scopes;
    case "filtered":
      return [requirement.scope];
  }
}

/** Returns the parameters of the request that the scopes of a requirement name. */
export const templatesOf = (requirement: CompiledRequirement): readonly string[] =>
  scopesOf(requirement).flatMap(({ template }) => template?.parameter ?? []);

/** The route that a requirement is written for. */
export interface RequiringRoute {
  readonly method: string;
  readonly pattern: Pattern;
}

type Path = readonly (string | number)[];

/** Compiles a requirement, or reports every mistake in it. */
export function compileRequirement(
  requirement: Requirement,
  route: RequiringRoute,
  path: Path,
  report: Report,
): CompiledRequirement | undefined {
  if (requirement === "public" || requirement === "optional") return { kind: requirement };
  if ("filtered" in requirement) return compileFiltered(requirement.filtered, route, path, report);
  const isAnyOf = "anyOf" in requirement;
  const texts = isAnyOf ? requirement.anyOf : requirement;
  const textsPath = isAnyOf ? [...path, "anyOf"] : path;
  const scopes = texts.flatMap((text, index) => {
    const textPath = [...textsPath, index];
    if (Object.hasOwn(RESERVED, text)) {
      report(describeReserved(text, textPath));
      return [];
    }
    return compileScope(text, route.pattern.parameters, textPath, report) ?? [];
  });
  if (scopes.length < texts.length) return undefined;
  return { kind: isAnyOf ? "anyOf" : "allOf", scopes };
}

/** Words that look like scopes, and what to write instead. */
const RESERVED: Readonly<Record<string, string>> = {
  public: '"public" without the array, for a route that needs no token',
  optional: '"optional" without the array, for a route that reads a token if there is one',
  "*": "[] for any valid token, or the scope that the route needs",
};

const describeReserved = (text: string, path: Path): Parameters<Report>[0] => ({
  code: "scope_invalid",
  path,
  message: `${JSON.stringify(text)} isn't a scope.`,
  hint: `Write ${RESERVED[text]}.`,
});

function compileFiltered(
  text: string,
  route: RequiringRoute,
  path: Path,
  report: Report,
): CompiledRequirement | undefined {
  const scope = compileScope(text, new Set(), [...path, "filtered"], report);
  if (!scope) return undefined;
  const [resource, action, ...otherParts] = splitScope(text);
  const filteredPath = [...path, "filtered"];
  if (resource === undefined || action === undefined || otherParts.length > 0) {
    report({
      code: "requirement_invalid",
      path: filteredPath,
      message: `\`${text}\` has no ids to filter by.`,
      hint: 'Write `resource:action`, such as { filtered: "agents:read" }.',
    });
    return undefined;
  }
  // For one item, a caller with the scope for any id could read or change the items of all other ids.
  if (!isListed(route)) {
    report({
      code: "requirement_invalid",
      path: filteredPath,
      message:
        "is for lists: a GET or HEAD whose path doesn't end with a parameter, or a list or one tool of MCP.",
      hint: `Write ["${resource}:<parameter>:${action}"] for one item, or ["${text}"].`,
    });
    return undefined;
  }
  return { kind: "filtered", scope, resource, action };
}

/** Returns whether the handler of a route can filter a list. */
function isListed({ method, pattern }: RequiringRoute): boolean {
  // A single tool may return a list, but not every tool does.
  if (pattern.alternatives.length === 0) return /^(?:[\w/]+\/list|tools\/call [^*]+)$/.test(pattern.source);
  const isReading = method === "GET" || method === "HEAD";
  return (
    isReading &&
    pattern.alternatives.every(({ segments }) => [undefined, "static"].includes(segments.at(-1)?.kind))
  );
}
