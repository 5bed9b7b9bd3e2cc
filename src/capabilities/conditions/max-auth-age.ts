/** `maxAuthAgeSeconds`: how long ago the user has logged in (RFC 9470, OpenID Connect Core section 2). */
import { claimAt } from "../../core/token/claim-path.ts";
import type { ConditionCaller } from "../../core/policy/conditions.ts";
import { type ConditionKind, reportInvalid } from "./condition.ts";

export const maxAuthAge: ConditionKind<number> = {
  parse(written, context) {
    // With 0, every new token would be too old again.
    if (typeof written !== "number" || !Number.isSafeInteger(written) || written < 1) {
      reportInvalid(context, "isn't an age.", "Write a whole number of seconds, 1 or more: 300.");
      return;
    }
    return {
      name: "maxAuthAgeSeconds",
      reason: "authentication_insufficient",
      isMet: (caller) => isRecent(caller, written),
      maxAgeSeconds: written,
    };
  },
  describe: (written) => `the user has logged in within ${written} s`,
};

function isRecent({ principal, moment }: ConditionCaller, maxAgeSeconds: number): boolean {
  const { nowSeconds, toleranceSeconds } = moment;
  const authTime = claimAt(principal.claims, "auth_time");
  return (
    typeof authTime === "number" &&
    authTime <= nowSeconds + toleranceSeconds &&
    nowSeconds - toleranceSeconds - authTime <= maxAgeSeconds
  );
}
