import { type CompiledRequirement, scopesOf } from "../../core/policy/requirement.ts";

/** Returns the scopes that clients can request: no template, and with `<any>` the scope for every id. */
export const requestableScopesOf = (requirement: CompiledRequirement): readonly string[] =>
  scopesOf(requirement).flatMap(({ template, text }) => {
    if (!template) return [text];
    return template.parameter === undefined ? [`${template.resource}:${template.action}`] : [];
  });
