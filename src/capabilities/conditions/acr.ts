/** `acr`: how strongly the user has logged in (RFC 9470, OpenID Connect Core section 2). */
import type { Acr } from "../../core/policy/conditions.ts";
import { claimAt } from "../../core/token/claim-path.ts";
import { type ConditionKind, readProperties, readStrings, reportInvalid } from "./condition.ts";

/** The methods of RFC 8176 section 2, which belong in the claim `amr` and are hardly ever an `acr`. */
const METHODS =
  "face fpt geo hwk iris kba mca mfa otp pin pop pwd rba retina sc sms swk tel user vbm wia".split(" ");

export const acr: ConditionKind<Acr> = {
  parse(written, context) {
    const anyOf = readStrings(readProperties(written, ["anyOf"])?.get("anyOf"));
    if (!anyOf) {
      reportInvalid(
        context,
        "isn't a condition on the login.",
        'Write the values of the claim `acr` that are enough: { anyOf: ["urn:example:mfa"] }.',
      );
      return;
    }
    const method = anyOf.find((value) => METHODS.includes(value));
    if (method !== undefined) {
      reportInvalid(
        context,
        `names \`${method}\`, which is a value of the claim \`amr\` (RFC 8176), not of \`acr\`.`,
        "Write the `acr` that your issuer gives to such logins; its metadata lists them as `acr_values_supported`.",
      );
      return;
    }
    // The challenge has the values in a quoted string, separated by spaces.
    const unusable = anyOf.find((value) => !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value));
    if (unusable !== undefined) {
      reportInvalid(
        context,
        `has ${JSON.stringify(unusable)}, which a challenge can't contain.`,
        "Write printable ASCII without spaces, quotation marks and backslashes.",
      );
      return;
    }
    return {
      name: "acr",
      reason: "authentication_insufficient",
      isMet: ({ principal }) => anyOf.some((value) => value === claimAt(principal.claims, "acr")),
      acrValues: anyOf,
    };
  },
  describe: (written) => `the login has the acr ${written.anyOf.join(" or ")}`,
};
