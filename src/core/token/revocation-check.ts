/** Checks whether an identified principal is revoked. */
import { type Pending } from "../runtime/pending.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import { type Identified, unavailable } from "./identified.ts";
import { type Principal } from "./principal.ts";
import { type RevocationStore } from "./revocation.ts";

/** One check; it answers `true` if the principal is revoked. */
export type RevocationCheck = (principal: Principal) => Pending<boolean>;

/** The options that decide what is revoked. */
export interface RevocationRules {
  readonly revocation: RevocationStore | undefined;
  readonly isRevoked: RevocationCheck | undefined;
}

export function revocationChecksOf({ revocation, isRevoked }: RevocationRules): readonly RevocationCheck[] {
  const checks = [revocation && ((principal: Principal) => revocation.isRevoked(principal)), isRevoked];
  return checks.filter((check) => check !== undefined);
}

/** Runs each check in turn, and stops at the first that reports a revocation or fails. */
export function checkRevocation(
  identified: Identified,
  checks: readonly RevocationCheck[],
  index = 0,
): Pending<Identified> {
  const check = checks[index];
  if (identified.kind === "refused" || !check) return identified;
  const { principal } = identified;
  // A failed check is not a revocation: the client gets 503 and can use its token again later.
  try {
    const answer: unknown = check(principal);
    if (answer === false) return checkRevocation(identified, checks, index + 1);
    if (answer === true) return revoked(principal);
    return withinLimit(answer, "The revocation check").then(
      (isRevoked) => {
        if (isRevoked === false) return checkRevocation(identified, checks, index + 1);
        if (isRevoked === true) return revoked(principal);
        return unavailable(new TypeError("`isRevoked` must return true or false."));
      },
      (cause: unknown) => unavailable(cause),
    );
  } catch (cause) {
    return unavailable(cause);
  }
}

const revoked = (principal: Principal): Identified => ({
  kind: "refused",
  refusal: { reason: "token_rejected", rejection: "revoked", principal },
});
