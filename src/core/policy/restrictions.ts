/**
 * The rules whose conditions apply to a request. Conditions add up: every rule that matches the request
 * counts, not only the one whose scopes decide, so that no narrower rule loses the conditions of a wider one.
 */
import { ruleIdentity, type Restriction } from "./rule.ts";
import type { LeafMatch } from "./rule-tree.ts";

/** The rules with conditions that match a request. Those of a path are looked up when they are first read. */
export interface Restrictions {
  readonly active: readonly Restriction[];
  /** Restrictions with the deciding rules as exceptions. They become active if another rule also decides. */
  readonly exempt: readonly Restriction[];
}

export const UNRESTRICTED: Restrictions = Object.freeze({ active: [], exempt: [] });

/**
 * Looks up restrictions once, when they are first read. Only a decision for a verified token, or for rules
 * that need no token, reads them, so that requests without a valid token never pay for them.
 */
export class LazyRestrictions implements Restrictions {
  readonly #lookUp: () => Restrictions;
  #restrictions: Restrictions | undefined;

  constructor(lookUp: () => Restrictions) {
    this.#lookUp = lookUp;
  }

  get active(): readonly Restriction[] {
    return (this.#restrictions ??= this.#lookUp()).active;
  }

  get exempt(): readonly Restriction[] {
    return (this.#restrictions ??= this.#lookUp()).exempt;
  }
}

/** Divides restrictions by whether each deciding rule is one of their exceptions. */
export function divideRestrictions(
  restrictions: readonly Restriction[],
  deciding: readonly LeafMatch[],
): Restrictions {
  if (restrictions.length === 0) return UNRESTRICTED;
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
  return new LazyRestrictions(() => ({
    active: [...new Set(parts.flatMap(({ active }) => active))],
    exempt: [...new Set(parts.flatMap(({ exempt }) => exempt))],
  }));
}

/** Returns the restrictions of a request that further rules also decide. */
export function addDeciding(restrictions: Restrictions, added: readonly LeafMatch[]): Restrictions {
  if (restrictions === UNRESTRICTED || added.length === 0) return restrictions;
  return new LazyRestrictions(() => {
    const { active, exempt } = divideRestrictions(restrictions.exempt, added);
    return { active: [...restrictions.active, ...active], exempt };
  });
}
