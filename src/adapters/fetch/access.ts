import type { Verdict } from "../../core/pipeline.ts";
import type { Allowed, Decision } from "../../core/policy/decision.ts";
import type { Principal } from "../../core/token/principal.ts";

/** An allowed request. */
export interface Access {
  /** The caller; `undefined` on public routes, and on optional ones without a token. */
  readonly principal: Principal | undefined;
  /** Why the request is allowed. The first read of this property takes as long as the decision itself. */
  readonly decision: Allowed;
  /** With `senderConstraint.dpop.nonce`: the response should have it as `DPoP-Nonce`. Usually `undefined`. */
  readonly nextNonce: string | undefined;
}

/** The field with a nonce for the client (RFC 9449 section 8.2). */
export const NONCE_FIELD = "DPoP-Nonce";

/** A class, because V8 takes microseconds for an object literal with a getter. */
export class GrantedAccess implements Access {
  readonly principal: Principal | undefined;
  readonly nextNonce: string | undefined;
  readonly #decide: () => Decision;

  constructor({ principal, decision, headers: ofVerdict }: Verdict, headers = ofVerdict) {
    this.principal = principal;
    this.nextNonce = headers?.[NONCE_FIELD];
    this.#decide = decision;
  }

  static isGranted(result: object): result is Access {
    return #decide in result;
  }

  get decision(): Allowed {
    return this.#decide() as Allowed;
  }
}

/** Checks a private property, because a polluted prototype must not turn a refusal into access. */
export const isAccess = (result: Access | Response): result is Access => GrantedAccess.isGranted(result);
