/** The names of scopes in the options: what rules require, and what tokens are granted. */
import { type Report, suggest } from "../errors.ts";
import type { CompiledTable } from "../policy/compile-rules.ts";
import { scopesOf } from "../policy/requirement.ts";
import { optionPath } from "../policy/rule.ts";
import { splitScope } from "../scopes/scope.ts";
import type { Path } from "./mistakes.ts";
import type { ResourceServerOptions } from "./options.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** A scope without its id, and where the options contain it. */
export interface NamedScope {
  readonly name: string;
  readonly path: Path;
}

/** Returns a scope without its id: `agents:read` for `agents:<agent_id>:read`. */
export function nameOfScope(scope: string): string {
  const [resource, , action, ...rest] = splitScope(scope);
  return action === undefined || rest.length > 0 ? scope : `${resource}:${action}`;
}

export const namesInRules = ({ rules }: CompiledTable): readonly NamedScope[] =>
  rules.flatMap(({ rule, requirement, conditions }) =>
    [...scopesOf(requirement), ...(conditions?.scopes ?? [])].map(({ text }) => ({
      name: nameOfScope(text),
      path: optionPath(rule),
    })),
  );

/** The options that contain names of scopes, besides the table. */
export type GrantingOptions = Pick<
  ResourceServerOptions,
  "adminScope" | "impliedScopes" | "knownScopes" | "scopeSources"
> & { readonly issuers?: readonly Pick<TrustedIssuer, "scopeSources" | "scopes">[] };

export function namesInGrants(options: GrantingOptions): readonly NamedScope[] {
  const { scopeSources = [], issuers = [], impliedScopes = {} } = options;
  const sources = [...scopeSources, ...issuers.flatMap((issuer) => issuer.scopeSources ?? [])];
  return [
    ...sources.flatMap(({ map = {} }) =>
      Object.entries(map).flatMap(([role, scopes]) => named(scopes, ["scopeSources", role])),
    ),
    ...issuers.flatMap(({ scopes = [] }, index) => named(scopes, ["issuers", index, "scopes"])),
    ...Object.entries(impliedScopes).flatMap(([scope, implied]) =>
      named([scope, ...implied], ["impliedScopes", scope]),
    ),
  ];
}

const named = (scopes: readonly string[], path: Path): readonly NamedScope[] =>
  scopes.map((scope) => ({ name: nameOfScope(scope), path }));

/** Reports every scope that isn't in `knownScopes`. The admin scope is known from its own option. */
export function checkKnownScopes(
  { knownScopes, adminScope = "" }: GrantingOptions,
  names: readonly NamedScope[],
  report: Report,
): void {
  if (!knownScopes) return;
  const knownNames = new Set(knownScopes.map(nameOfScope));
  for (const { name, path } of names)
    if (!knownNames.has(name) && name !== adminScope)
      report({
        code: "scope_unknown",
        path,
        message: `names \`${name}\`, which isn't in \`knownScopes\`.`,
        hint: suggest(name, [...knownNames], "Add it to `knownScopes`, or correct its name."),
      });
}
