import type { Principal } from "../../core/token/principal.ts";

/** Returns the same string for one user of one issuer, or, without a user id, for equal claims. */
export const callerKey = (caller: Principal | undefined): string =>
  caller ? JSON.stringify([caller.issuer, caller.userId ?? caller.claims]) : "";

export const isSameCaller = (first: Principal | undefined, second: Principal | undefined): boolean =>
  callerKey(first) === callerKey(second);
