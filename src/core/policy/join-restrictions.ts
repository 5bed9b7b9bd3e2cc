/** Combines restrictions, for capabilities: without conditions, there are none. */
import { type DividedRestrictions, type Restrictions, UNRESTRICTED } from "./restrictions.ts";

/**
 * Only a decision for a verified token, or for rules that need no token, looks up restrictions, so that
 * requests without a valid token never pay for them.
 */
export function lookUpOnce(lookUp: Restrictions): Restrictions {
  let restrictions: DividedRestrictions | undefined;
  return () => (restrictions ??= lookUp());
}

/** Joins the restrictions of the parts of one request. */
export function joinRestrictions(parts: readonly Restrictions[]): Restrictions {
  if (parts.every((part) => part === UNRESTRICTED)) return UNRESTRICTED;
  return lookUpOnce(() => ({
    active: [...new Set(parts.flatMap((part) => part().active))],
    exempt: [...new Set(parts.flatMap((part) => part().exempt))],
  }));
}
