/** What can be revoked, and the interface of the option `revocation`. */
import type { Pending } from "../runtime/pending.ts";
import type { Principal } from "./principal.ts";

/** The state of the store of revocations, according to the last request to it. */
export interface RevocationStatus {
  /**
   * `ok`: the store responds, or wasn't asked yet. `degraded`: it doesn't respond, and its results of the
   * last `staleSeconds` are used. `unavailable`: it didn't respond for longer, and tokens get 503.
   */
  readonly state: "ok" | "degraded" | "unavailable";
  /** When the last request to which the store responded was sent. */
  readonly reachedAt?: Date;
  /** Why the state isn't `ok`. */
  readonly cause?: unknown;
  /** What to change in the settings of the store, if `ready()` could read them. */
  readonly warnings?: readonly string[];
}

/** The context of a revocation. */
export interface RevocationContext {
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The largest `clockToleranceSeconds` of its issuers. */
  readonly toleranceSeconds: number;
  /** The principal of a target with a token. */
  readonly principal?: Principal;
}

/** Stores what is revoked, for the option `revocation` of a server. */
export interface Revocations {
  /**
   * Returns whether a principal is revoked. It's called for every request with an accepted token, so it
   * should rarely need a promise. If it throws or rejects, the request gets 503.
   */
  isRevoked(principal: Principal): Pending<boolean>;
  /** Revokes a target. Resolves when every process that shares the store can read it. */
  revoke(target: RevocationTarget, options: RevocationOptions, context: RevocationContext): Promise<void>;
  /** Withdraws the revocation of a target. Returns whether there was one. */
  unrevoke(target: RevocationTarget, context: RevocationContext): Promise<boolean>;
  /** Proves that the store works, by writing a probe; with `readOnly`, only by reading. */
  ready(options?: { readonly readOnly?: boolean }): Promise<void>;
  /** Returns the current state, without a request to the store. */
  status(): RevocationStatus;
  /** Stops background work. */
  close(): void;
}

/** What to revoke: a token, session, user, client or issuer. Without `issuer`, the tokens of every issuer. */
export type RevocationTarget =
  | {
      /** A token that this server accepts. It's identified by its `jti`, or else by all its claims. */
      readonly token: string;
    }
  | {
      /** The `jti` of a token, or the id of an API key. */
      readonly tokenId: string;
      readonly issuer?: string;
    }
  | {
      /** The `principal.sessionId` of the tokens. */
      readonly sessionId: string;
      readonly issuer?: string;
    }
  | {
      /** The `principal.userId` of the tokens. */
      readonly userId: string;
      readonly issuer?: string;
      /**
       * Revokes tokens that were issued at this time or earlier. Includes tokens issued up to
       * `clockToleranceSeconds` later, because the issuer's clock may be ahead. Default: now, by the clock of
       * the store.
       */
      readonly before?: Date;
    }
  | {
      /** The first of the claims `client_id`, `azp` and `cid` that a token has. */
      readonly clientId: string;
      readonly issuer?: string;
      /** The same as for `userId`. */
      readonly before?: Date;
    }
  | {
      readonly issuer: string;
      /** The same as for `userId`. */
      readonly before?: Date;
    };

/** How long a revocation is kept, and why it was made. */
export interface RevocationOptions {
  /**
   * When the revocation can be forgotten, because the tokens have expired. Default: the `exp` of `token`;
   * without `token`, `keepSeconds` from now.
   */
  readonly until?: Date;
  /** The reason, for operators. It's stored, but never sent to a client. */
  readonly reason?: string;
}
