import type { Capability } from "../capability.ts";
import type { ResponseFields } from "../response/response-fields.ts";
import type { KeyProofs } from "../token/proof.ts";

/** A value of the option `senderConstraint`: `senderConstraint(options)` of `scopegate/sender-constraint`. */
export interface SenderConstraint extends Capability {
  readonly option: "senderConstraint";
  /** Creates the part of one server. */
  readonly create: (context: SenderConstraintContext) => BoundTokens;
}

/** What the compiler says about plain data in place of a value. */
export interface PlainSenderConstraint {
  readonly dpop?: "write senderConstraint: senderConstraint({ dpop }), from scopegate/sender-constraint";
  readonly mtls?: "write senderConstraint: senderConstraint({ mtls }), from scopegate/sender-constraint";
}

export interface SenderConstraintContext {
  readonly now: () => number;
}

export interface BoundTokens extends KeyProofs, ResponseFields {}
