/** Checks whether an identified principal is revoked. */
import type { Pending } from "../runtime/pending.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import type { Identified } from "./identification.ts";
import type { Principal } from "./principal.ts";
import { unavailable } from "./rejection.ts";
import type { Revocations } from "./revocation.ts";

/** One check. It returns `true` if the principal is revoked. */
export type RevocationCheck = (principal: Principal) => Pending<boolean>;

/** The options that determine what is revoked. */
export interface RevocationRules {
  readonly revocation: Revocations | undefined;
  readonly isRevoked: RevocationCheck | undefined;
}

export function revocationChecksOf({ revocation, isRevoked }: RevocationRules): readonly RevocationCheck[] {
  const checks = [revocation && ((principal: Principal) => revocation.isRevoked(principal)), isRevoked];
  return checks.filter((check) => check !== undefined);
}

/**
 * Runs each check in turn, and stops at the first one that reports a revocation or fails. A failed check
 * isn't a revocation: the client gets 503 and can use its token again later.
 */
export function checkRevocation(
  identified: Identified,
  checks: readonly RevocationCheck[],
): Pending<Identified> {
  if (identified.kind !== "identified") return identified;
  const { principal } = identified;
  for (const [index, check] of checks.entries()) {
    let result: unknown;
    try {
      result = check(principal);
    } catch (cause) {
      return unavailable(cause);
    }
    if (result === true) return revoked(principal);
    if (result !== false) return awaitCheck(result, principal, checks.slice(index + 1));
  }
  return identified;
}

/** Waits for a check that returned a promise, and then runs the others. */
async function awaitCheck(
  result: unknown,
  principal: Principal,
  otherChecks: readonly RevocationCheck[],
): Promise<Identified> {
  try {
    const isRevoked = await withinLimit(result, "The revocation check");
    if (isRevoked === true) return revoked(principal);
    if (isRevoked === false) return await checkRevocation({ kind: "identified", principal }, otherChecks);
    throw new TypeError("`isRevoked` must return true or false.");
  } catch (cause) {
    return unavailable(cause);
  }
}

const revoked = (principal: Principal): Identified => ({
  kind: "rejected",
  rejection: "revoked",
  principal,
});
