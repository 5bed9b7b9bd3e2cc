/** `clients`: which client applications may call. */
import { claimAt } from "../../core/token/claim-path.ts";
import { CLIENT_CLAIMS, isClientAllowed } from "../../core/token/clients.ts";
import type { Principal } from "../../core/token/principal.ts";
import { type ConditionKind, readStrings, reportInvalid } from "./condition.ts";

export const clients: ConditionKind<readonly string[]> = {
  parse(written, context) {
    const ids = readStrings(written);
    if (!ids) {
      reportInvalid(
        context,
        "isn't an array of client ids.",
        'Write the `client_id` of each client that may call: ["admin-console"].',
      );
      return;
    }
    const allowed = new Set(ids);
    return {
      name: "clients",
      reason: "caller_not_allowed",
      isMet: ({ principal }) => isClientAllowed(principal.claims, allowed),
    };
  },
  describe: (written) => `the client is ${written.join(" or ")}`,
};

/** Returns whether the user id is the client's id. If so, the token has no user. */
export const isClient = (userId: string, claims: Principal["claims"]): boolean =>
  CLIENT_CLAIMS.some((name) => claimAt(claims, name) === userId);
