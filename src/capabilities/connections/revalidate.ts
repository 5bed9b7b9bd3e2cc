/** Checks whether a caller that was verified earlier may stay connected. */
import { readClock } from "../../core/runtime/clock.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import type { ResolvedOptions } from "../../core/options/resolve.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { configurationFor } from "../../core/token/issuers.ts";
import { endOf } from "../../core/token/lifetime.ts";
import type { Principal } from "../../core/token/principal.ts";
import { checkRevocation, revocationChecksOf } from "../../core/token/revocation-check.ts";
import type { TokenRules } from "../../core/token/verifier.ts";

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

/**
 * Returns whether a principal of a server may stay connected: its token hasn't expired (by the clock of the
 * server, `clockToleranceSeconds` and `maxTokenAgeSeconds`), and isn't revoked. It checks no scopes. If the
 * check for revocation fails, the principal isn't valid, and the reason is `unavailable`.
 * @throws TypeError for a principal of an issuer that this server doesn't accept
 */
export async function revalidate(server: ResourceServer, principal: Principal): Promise<Revalidation> {
  const { rules } = pipelineOf(server);
  const { clockToleranceSeconds, maxTokenAgeSeconds } = timeRulesOf(principal, rules);
  const endsAt = endOf(principal.claims, maxTokenAgeSeconds) + clockToleranceSeconds * 1000;
  const leftMs = (): number => endsAt - readClock(rules.now).getTime();
  const waitMs = Math.min(leftMs(), MAX_WAIT_MS);
  if (waitMs <= 0) return EXPIRED;
  const { directory } = rules.issuers;
  if (directory && !principal.tokenKind) {
    const isCurrent = await withinLimit(directory.isCurrent(principal), "", waitMs).catch(() => undefined);
    if (!isCurrent) return { valid: false, reason: isCurrent === undefined ? "unavailable" : "revoked" };
  }
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
  principal: Principal,
  { issuers, opaque, clockToleranceSeconds }: ResolvedOptions,
): Pick<TokenRules, "clockToleranceSeconds" | "maxTokenAgeSeconds"> {
  if (principal.tokenKind && opaque) {
    const { maxTokenAgeSeconds } = opaque.requirementsOf(principal.issuer);
    return { clockToleranceSeconds, maxTokenAgeSeconds };
  }
  const configuration = configurationFor(principal, issuers);
  if (!configuration) throw new TypeError("revalidate takes a principal whose issuer this server accepts.");
  return configuration.token;
}
