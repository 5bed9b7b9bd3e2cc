/** Divides the rules with conditions that match a request: some except the rules that decide it. */
import { lookUpOnce } from "../../core/policy/join-restrictions.ts";
import { type DividedRestrictions, type Restrictions, UNRESTRICTED } from "../../core/policy/restrictions.ts";
import { appliesTo, type Restriction, type RuleMatch, ruleIdentity } from "../../core/policy/rule.ts";
import type { LeafMatch } from "../../core/policy/rule-tree.ts";

/** Divides restrictions by whether each deciding rule is one of their exceptions. */
export function divideRestrictions(
  restrictions: readonly Restriction[],
  deciding: readonly LeafMatch[],
): DividedRestrictions {
  if (restrictions.length === 0) return UNRESTRICTED();
  const isExempt = (restriction: Restriction): boolean =>
    deciding.length > 0 && deciding.every((match) => isException(restriction, match));
  const active: Restriction[] = [];
  const exempt: Restriction[] = [];
  for (const restriction of restrictions) (isExempt(restriction) ? exempt : active).push(restriction);
  return { active, exempt };
}

function isException({ conditions }: Restriction, { compiled, leaf }: LeafMatch): boolean {
  const identity = leaf?.identity ?? compiled.pattern.operation?.identity ?? "";
  return conditions.except.has(ruleIdentity(compiled.rule.method, identity));
}

/** Returns the restrictions of a request that further rules also decide. */
export function addDeciding(restrictions: Restrictions, added: readonly LeafMatch[]): Restrictions {
  if (restrictions === UNRESTRICTED || added.length === 0) return restrictions;
  return lookUpOnce(() => {
    const { active, exempt } = divideRestrictions(restrictions().exempt, added);
    return { active: [...restrictions().active, ...active], exempt };
  });
}

/**
 * Returns the restriction of a rule for a request; none without conditions. `method` is that of the request,
 * and `undefined` for an operation.
 */
export function toRestriction(
  { compiled, source, parameter }: RuleMatch,
  place: object,
  method?: string,
): readonly Restriction[] {
  const { conditions } = compiled;
  if (!conditions) return [];
  const { scopes, methods } = conditions.unless;
  const isLiftable = !methods || methods.some((each) => appliesTo({ method: each }, method ?? ""));
  const unless = isLiftable ? scopes : [];
  return [{ compiled, source, parameter, conditions, place, unless }];
}

/** Returns what `also` of a restriction requires, as a match that scopes can be compared with. */
export const toAlsoMatch = ({ compiled, conditions, parameter }: Restriction): RuleMatch => ({
  compiled: { ...compiled, requirement: conditions.also },
  parameter,
});
