import { type Report } from "../errors.ts";
import { findScopeMistake } from "../scopes/scope-rules.ts";
import { isSpaceDelimited, type ScopeSource } from "../token/scope-sources.ts";
import { DEFAULTS, type ResourceServerOptions } from "./options.ts";
import { conflict } from "./resolve-token.ts";

/** Resolves the claims that grant scopes. Without scope checks, a token needs none of them. */
export function resolveScopeSources(
  options: Pick<ResourceServerOptions, "scopesClaim" | "scopeSources" | "authorization">,
  path: readonly (string | number)[],
  report: Report,
): readonly ScopeSource[] {
  const { scopesClaim, scopeSources } = options;
  const { authorization } = { ...DEFAULTS, ...options };
  if (scopesClaim !== undefined && scopeSources) {
    const issue = conflict("scopesClaim", "scopeSources", "Write the claim as one of `scopeSources`.");
    report({ ...issue, path: [...path, "scopesClaim"] });
  }
  for (const [index, { claim, map = {} }] of (scopeSources ?? []).entries())
    for (const [role, scopes] of Object.entries(map)) {
      const place = [...path, "scopeSources", index, "map", role];
      if (role.includes(" ") && isSpaceDelimited(claim)) report({ path: place, ...NEVER_MATCHES });
      for (const scope of scopes) {
        const mistake = findScopeMistake(scope);
        if (mistake) report({ code: "scope_invalid", path: place, ...mistake });
      }
    }
  const sources = scopeSources ?? [{ claim: scopesClaim ?? DEFAULTS.scopesClaim }];
  return sources.map((source) => ({ ...source, required: source.required ?? authorization }));
}

const NEVER_MATCHES = {
  code: "option_invalid",
  message: "contains a space, but this claim is split at spaces.",
  hint: "Write one key for each value, without spaces, or read the roles from another claim.",
} as const;
