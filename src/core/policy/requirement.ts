import type { Report } from "../errors.ts";
import { compileScope, type RequiredScope } from "../scopes/required-scope.ts";
import type { Pattern } from "./pattern.ts";

/**
 * What a route requires of its caller:
 *
 * - an array of scopes: all of them; `[]` requires a valid token and no scope
 * - `{ anyOf }`: at least one of them
 * - `"optional"`: nothing, but a token that is sent must be valid
 * - `"public"`: nothing, and no token is read
 *
 * In a scope, `<name>` as the second of three parts stands for the route parameter of that name:
 * `agents:<agent_id>:run`. `agents:<any>:read` requires the scope for all ids *or for at least one*; the
 * handler then filters its result by `principal.resourceIds("agents", "read")`. It's only for GET and HEAD of
 * a path that doesn't end with a parameter, and for lists and single tools of MCP.
 */
export type Requirement = readonly string[] | { readonly anyOf: readonly string[] } | "optional" | "public";

export type CompiledRequirement =
  | { readonly kind: "public" }
  | { readonly kind: "optional" }
  | { readonly kind: "allOf" | "anyOf"; readonly scopes: readonly RequiredScope[] };

export const scopesOf = (requirement: CompiledRequirement): readonly RequiredScope[] =>
  "scopes" in requirement ? requirement.scopes : [];

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
  const isAnyOf = "anyOf" in requirement;
  const texts = isAnyOf ? requirement.anyOf : requirement;
  const textsPath = isAnyOf ? [...path, "anyOf"] : path;
  const scopes = texts.flatMap((text, index) => {
    const textPath = [...textsPath, index];
    if (Object.hasOwn(RESERVED, text)) {
      report(describeReserved(text, textPath));
      return [];
    }
    return compileScope(text, route.pattern.parameters, textPath, report, isList(route)) ?? [];
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

/** Returns whether the handler of a route can filter a list. */
function isList({ method, pattern }: RequiringRoute): boolean {
  // A single tool may return a list, but not every tool does.
  if (pattern.operation) return /^(\/\S* )?([\w/]+\/list|tools\/call [^*]+)$/.test(pattern.source);
  const isReading = method === "GET" || method === "HEAD";
  return (
    isReading &&
    pattern.alternatives.every(({ segments }) => [undefined, "static"].includes(segments.at(-1)?.kind))
  );
}
