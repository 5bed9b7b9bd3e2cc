/**
 * The rules whose conditions apply to a request. Conditions add up: every rule that matches the request
 * counts, not only the one whose scopes decide, so that no narrower rule loses the conditions of a wider one.
 */
import type { Restriction, RuleMatch } from "./rule.ts";

/** Looks up the rules with conditions that match a request. */
export type Restrictions = () => DividedRestrictions;

export interface DividedRestrictions {
  readonly active: readonly Restriction[];
  /** Restrictions with the deciding rules as exceptions. They become active if another rule also decides. */
  readonly exempt: readonly Restriction[];
}

/** Finds the restrictions of one operation. `place` identifies its arguments. */
export interface OperationRestrictions {
  readonly forOperation: (
    matches: readonly RuleMatch[],
    place: object,
    deciding: readonly RuleMatch[],
  ) => Restrictions;
}

const NO_RESTRICTIONS: DividedRestrictions = Object.freeze({ active: [], exempt: [] });

export const UNRESTRICTED: Restrictions = () => NO_RESTRICTIONS;
