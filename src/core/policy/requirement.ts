import type { Report } from "../errors.ts";
import { compileScope, type RequiredScope } from "../scopes/required-scope.ts";
import { splitScope } from "../scopes/scope.ts";

/**
 * What a route requires of its caller:
 *
 * - an array of scopes: all of them; `[]` requires a valid token and no scope
 * - `{ anyOf }`: at least one of them
 * - `{ filtered }`: a `resource:action`, granted for all ids *or for at least one*; the handler then filters
 *   its result by `principal.resourceIds(resource, action)`
 * - `"optional"`: nothing, but a token that is sent must be valid
 * - `"public"`: nothing, and no token is read
 *
 * In a scope, `<name>` as a whole part stands for the route parameter of that name: `agents:<agent_id>:run`.
 */
export type Requirement =
  | readonly string[]
  | { readonly anyOf: readonly string[] }
  | { readonly filtered: string }
  | "optional"
  | "public";

/**
 * A requirement with scopes that are not enforced yet: a request that lacks them passes, and its decision is
 * `reported`. A missing or bad token is refused all the same.
 */
export interface ReportOnly {
  /** What will be required: an array of at least one scope, `{ anyOf }` or `{ filtered }`. */
  readonly report: Requirement;
}

/** The table: `METHOD /pattern` to what the route requires. METHOD is upper case, or `*` for every method. */
export type ScopeMappings = Readonly<Record<string, Requirement | ReportOnly>>;

/** Own properties only: a polluted prototype must not turn a rule into one that is only reported. */
export const isReportOnly = (written: Requirement | ReportOnly): written is ReportOnly =>
  Object.hasOwn(Object(written) as object, "report");

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

/** Returns the scopes that a requirement names. */
export function scopesOf(requirement: CompiledRequirement): readonly RequiredScope[] {
  if (requirement.kind === "filtered") return [requirement.scope];
  return "scopes" in requirement ? requirement.scopes : [];
}

/** Returns the parameters of the request that the scopes of a requirement name. */
export const templatesOf = (requirement: CompiledRequirement): readonly string[] =>
  scopesOf(requirement)
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (typeof part === "string" ? [] : [part.parameter]));

/** Compiles a requirement, or reports every mistake in it. */
export function compileRequirement(
  requirement: Requirement,
  parameters: ReadonlySet<string> | "any",
  path: readonly (string | number)[],
  report: Report,
): CompiledRequirement | undefined {
  if (requirement === "public" || requirement === "optional") return { kind: requirement };
  if ("filtered" in requirement) return compileFiltered(requirement.filtered, path, report);
  const isAnyOf = "anyOf" in requirement;
  const texts = isAnyOf ? requirement.anyOf : requirement;
  const textsPath = isAnyOf ? [...path, "anyOf"] : path;
  const scopes = texts.flatMap(
    (text, index) => compileScope(text, parameters, [...textsPath, index], report) ?? [],
  );
  if (scopes.length < texts.length) return undefined;
  return { kind: isAnyOf ? "anyOf" : "allOf", scopes };
}

function compileFiltered(
  text: string,
  path: readonly (string | number)[],
  report: Report,
): CompiledRequirement | undefined {
  const scope = compileScope(text, new Set(), [...path, "filtered"], report);
  if (!scope) return undefined;
  const [resource, action, ...otherParts] = splitScope(text);
  if (resource !== undefined && action !== undefined && otherParts.length === 0)
    return { kind: "filtered", scope, resource, action };
  report({
    code: "requirement_invalid",
    path: [...path, "filtered"],
    message: `\`${text}\` has no ids to filter by.`,
    hint: 'Write `resource:action`, such as { filtered: "agents:read" }.',
  });
  return undefined;
}
