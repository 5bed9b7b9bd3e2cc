/**
 * The rules whose conditions apply to a request. Conditions add up: every rule that matches the request
 * counts, not only the one whose scopes decide, so that no narrower rule loses the conditions of a wider one.
 */
import { ruleIdentity, type Restriction, type RuleMatch } from "./rule.ts";
import type { LeafMatch } from "./rule-tree.ts";

/** The rules with conditions that match a request. */
export interface Restrictions {
  readonly active: readonly Restriction[];
  /** Restrictions with the deciding rules as exceptions. They become active if another rule also decides. */
  readonly exempt: readonly Restriction[];
}

export const UNRESTRICTED: Restrictions = Object.freeze({ active: [], exempt: [] });

/** Divides restrictions by whether each deciding rule is one of their exceptions. */
export function divideRestrictions(
  restrictions: readonly Restriction[],
  deciding: readonly LeafMatch[],
): Restrictions {
  if (restrictions.length === 0) return UNRESTRICTED;
  const isExempt = (restriction: Restriction): boolean =>
    deciding.length > 0 && deciding.every((match) => isException(restriction, match));
  return {
    active: restrictions.filter((restriction) => !isExempt(restriction)),
    exempt: restrictions.filter(isExempt),
  };
}

function isException({ conditions }: Restriction, { compiled, leaf }: LeafMatch): boolean {
  // Without this report-only rule, another rule decides, which may not be an exception.
  if (compiled.isReport && !compiled.beside) return false;
  const identity = leaf?.identity ?? compiled.pattern.operation?.identity ?? "";
  return conditions.except.has(ruleIdentity(compiled.rule.method, identity));
}

/** Joins the restrictions of the parts of one request. */
export const joinRestrictions = (parts: readonly Restrictions[]): Restrictions =>
  parts.every((part) => part === UNRESTRICTED)
    ? UNRESTRICTED
    : {
        active: [...new Set(parts.flatMap(({ active }) => active))],
        exempt: [...new Set(parts.flatMap(({ exempt }) => exempt))],
      };

/** Returns the restrictions of a request that further rules also decide. */
export function addDeciding(restrictions: Restrictions, added: readonly LeafMatch[]): Restrictions {
  if (restrictions.exempt.length === 0 || added.length === 0) return restrictions;
  const { active, exempt } = divideRestrictions(restrictions.exempt, added);
  return { active: [...restrictions.active, ...active], exempt };
}

/** `place` is the same for all restrictions of one path, or of one operation. */
export const toRestriction = (match: RuleMatch, place: object): readonly Restriction[] => {
  const { conditions } = match.compiled;
  return conditions ? [{ ...match, conditions, place }] : [];
};
