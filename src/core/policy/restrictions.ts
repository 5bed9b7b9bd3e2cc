/**
 * The rules whose conditions apply to a request. Conditions add up: every rule that matches the request
 * counts, not only the one whose scopes decide, so that no narrower rule loses the conditions of a wider one.
 */
import { ruleIdentity, type Restriction } from "./rule.ts";
import type { LeafMatch } from "./rule-tree.ts";

/** Looks up the rules with conditions that match a request. */
export type Restrictions = () => DividedRestrictions;

export interface DividedRestrictions {
  readonly active: readonly Restriction[];
  /** Restrictions with the deciding rules as exceptions. They become active if another rule also decides. */
  readonly exempt: readonly Restriction[];
}

const NO_RESTRICTIONS: DividedRestrictions = Object.freeze({ active: [], exempt: [] });

export const UNRESTRICTED: Restrictions = () => NO_RESTRICTIONS;

/**
 * Only a decision for a verified token, or for rules that need no token, looks up restrictions, so that
 * requests without a valid token never pay for them.
 */
export function lookUpOnce(lookUp: Restrictions): Restrictions {
  let restrictions: DividedRestrictions | undefined;
  return () => (restrictions ??= lookUp());
}

/** Divides restrictions by whether each deciding rule is one of their exceptions. */
export function divideRestrictions(
  restrictions: readonly Restriction[],
  deciding: readonly LeafMatch[],
): DividedRestrictions {
  if (restrictions.length === 0) return NO_RESTRICTIONS;
  const isExempt = (restriction: Restriction): boolean =>
    deciding.length > 0 && deciding.every((match) => isException(restriction, match));
  const active: Restriction[] = [];
  const exempt: Restriction[] = [];
  for (const restriction of restrictions) (isExempt(restriction) ? exempt : active).push(restriction);
  return { active, exempt };
}

function isException({ conditions }: Restriction, { compiled, leaf }: LeafMatch): boolean {
  // Without this report-only rule, another rule decides, which may not be an exception.
  if (compiled.isReport && !compiled.beside) return false;
  const identity = leaf?.identity ?? compiled.pattern.operation?.identity ?? "";
  return conditions.except.has(ruleIdentity(compiled.rule.method, identity));
}

/** Joins the restrictions of the parts of one request. */
export function joinRestrictions(parts: readonly Restrictions[]): Restrictions {
  if (parts.every((part) => part === UNRESTRICTED)) return UNRESTRICTED;
  return lookUpOnce(() => ({
    active: [...new Set(parts.flatMap((part) => part().active))],
    exempt: [...new Set(parts.flatMap((part) => part().exempt))],
  }));
}

/** Returns the restrictions of a request that further rules also decide. */
export function addDeciding(restrictions: Restrictions, added: readonly LeafMatch[]): Restrictions {
  if (restrictions === UNRESTRICTED || added.length === 0) return restrictions;
  return lookUpOnce(() => {
    const { active, exempt } = divideRestrictions(restrictions().exempt, added);
    return { active: [...restrictions().active, ...active], exempt };
  });
}
