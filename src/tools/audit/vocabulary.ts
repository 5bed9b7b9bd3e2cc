/**
 * Finds scopes that are only in rules, or only in grants: one of two similar names is probably misspelled.
 */
import { findSimilar } from "../../core/errors.ts";
import { type GrantingOptions, namesInGrants, namesInRules } from "../../core/options/vocabulary.ts";
import type { CompiledTable } from "../../core/policy/compile-rules.ts";
import type { AuditRemark } from "./report.ts";

/**
 * Compares the scopes of rules with those of `map` and `impliedScopes`, and reports the most similar name.
 */
export function findOneSided(options: GrantingOptions, table: CompiledTable): readonly AuditRemark[] {
  const inRules = new Set(namesInRules(table).map(({ name }) => name));
  const inGrants = new Set(namesInGrants(options).map(({ name }) => name));
  const onlyInRules = [...inRules].filter((name) => !inGrants.has(name));
  const onlyInGrants = [...inGrants].filter((name) => !inRules.has(name) && name !== options.adminScope);
  return onlyInGrants.flatMap((name): readonly AuditRemark[] => {
    const similar = findSimilar(name, onlyInRules);
    if (similar === undefined) return [];
    return [
      {
        severity: "warning",
        message: `\`${name}\` is only in \`map\` or \`impliedScopes\`, and \`${similar}\` only in rules.`,
        hint: "Write one name on both sides, or list both in `knownScopes`.",
      },
    ];
  });
}
