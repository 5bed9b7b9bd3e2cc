import type { Decision } from "../../core/policy/decision.ts";
import { ownProperty } from "../../core/request.ts";

/**
 * Returns whether the token and its proof were accepted: only scopes or a condition may be missing. The
 * decision about a revoked token has a principal, too, so a polluted prototype must not add a condition.
 */
export const isTokenAccepted = (decision: Decision): boolean =>
  decision.allowed ||
  decision.reason === "scope_insufficient" ||
  ownProperty(decision, "condition") !== undefined;
