/** `senderConstrained`: the token is bound to a key, and the client has proved that it holds it. */
import { type ConditionKind, reportInvalid } from "./condition.ts";

export const senderConstrained: ConditionKind<true> = {
  parse(written, context) {
    if (written !== true) {
      reportInvalid(context, "can't be switched off for one rule.", "Write true, or remove it.");
      return;
    }
    return {
      name: "senderConstrained",
      reason: "proof_missing",
      // A token that is bound is accepted only with its proof. A polluted prototype binds no token.
      isMet: ({ principal }) => Object.hasOwn(principal, "binding"),
    };
  },
  describe: () => "the token is bound to a key of the client",
};
