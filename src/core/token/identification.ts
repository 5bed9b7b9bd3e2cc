import type { Principal } from "./principal.ts";
import type { RejectedToken, UncheckedToken } from "./rejection.ts";
import type { Acceptance } from "./token-cache.ts";

/** The principal of a token, or why the token wasn't accepted. */
export type Identified =
  | {
      readonly kind: "identified";
      readonly principal: Principal;
      /** For the cache: the key that verified the token, and how long the token is accepted. */
      readonly acceptance?: Acceptance;
    }
  /** A revoked token has a principal. */
  | (RejectedToken & { readonly principal?: Principal })
  | UncheckedToken;
