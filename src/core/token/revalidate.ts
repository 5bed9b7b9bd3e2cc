/** Checks whether a caller that was verified earlier may stay connected. */
import { readClock } from "../runtime/clock.ts";
import { withinLimit } from "../runtime/time-limit.ts";
import type { IssuerConfiguration } from "./issuers.ts";
import { type OpaqueRules, requirementsOf } from "./opaque-tokens.ts";
import type { Principal } from "./principal.ts";
import { checkRevocation, type RevocationRules, revocationChecksOf } from "./revocation-check.ts";
import { endOf, type TokenRules } from "./verifier.ts";

/** Why access ends: the token expired, it was revoked, or it isn't known whether it was revoked. */
export type EndReason = "expired" | "revoked" | "unavailable";

/** Whether the token of a principal is still valid, and if not, why. */
export type Revalidation =
  | {
      /** The caller may stay connected. */
      readonly valid: true;
      /** After how many milliseconds the token expires; `Infinity` for a token that doesn't expire. */
      readonly expiresInMs: number;
    }
  | {
      /** The caller may not stay connected. */
      readonly valid: false;
      /** Why. */
      readonly reason: EndReason;
    };

const EXPIRED = Object.freeze({ valid: false, reason: "expired" } as const);

/** The longest wait for a check: far below the limit of timers, and longer than that of `isRevoked`. */
const MAX_WAIT_MS = 60_000;

interface RevalidationRules
  extends RevocationRules, Pick<OpaqueRules, "opaqueContext" | "opaqueRequirements"> {
  readonly now: () => number;
}

/** Checks expiry and revocation. Reads the clock again after a revocation check, which may take seconds. */
export async function revalidate(
  principal: Principal,
  issuers: readonly IssuerConfiguration[],
  rules: RevalidationRules,
): Promise<Revalidation> {
  const { clockToleranceSeconds, maxTokenAgeSeconds } = timeRulesOf(principal, issuers, rules);
  const endsAt = endOf(principal.claims, maxTokenAgeSeconds) + clockToleranceSeconds * 1000;
  const leftMs = (): number => endsAt - readClock(rules.now).getTime();
  const waitMs = Math.min(leftMs(), MAX_WAIT_MS);
  if (waitMs <= 0) return EXPIRED;
  const checks = revocationChecksOf(rules);
  if (checks.length > 0) {
    const checking = checkRevocation({ kind: "identified", principal }, checks);
    // A check that hangs must not keep a connection open after its token has expired.
    const checked = await withinLimit(checking, "`isRevoked`", waitMs).catch(() => undefined);
    if (!checked) return EXPIRED;
    if (checked.kind !== "identified")
      return { valid: false, reason: checked.kind === "rejected" ? "revoked" : "unavailable" };
  }
  const expiresInMs = leftMs();
  return expiresInMs > 0 ? { valid: true, expiresInMs } : EXPIRED;
}

function timeRulesOf(
  { tokenKind, issuer }: Principal,
  issuers: readonly IssuerConfiguration[],
  { opaqueContext, opaqueRequirements }: RevalidationRules,
): Pick<TokenRules, "clockToleranceSeconds" | "maxTokenAgeSeconds"> {
  if (tokenKind) {
    const { maxTokenAgeSeconds } = requirementsOf(opaqueRequirements, issuer);
    return { clockToleranceSeconds: opaqueContext.clockToleranceSeconds, maxTokenAgeSeconds };
  }
  // A single issuer may be configured without a name.
  const configuration =
    issuers.length === 1 ? issuers[0] : issuers.find(({ token }) => token.issuer === issuer);
  if (!configuration) throw new TypeError("revalidate takes a principal whose issuer this server accepts.");
  return configuration.token;
}
