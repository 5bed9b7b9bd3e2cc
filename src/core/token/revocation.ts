/** What can be revoked, and the interface to what is revoked. */
import type { Pending } from "../runtime/pending.ts";
import type { Principal } from "./principal.ts";

/** The state of the store of revocations, as far as the last question to it shows. */
export interface RevocationStatus {
  /**
   * `ok`: the store answers, or was not asked yet. `degraded`: it does not answer, and its answers of the
   * last `staleSeconds` are used. `unavailable`: it has not answered for longer, so requests with a token get
   * 503.
   */
  readonly state: "ok" | "degraded" | "unavailable";
  /** When the store was last asked a question that it answered. */
  readonly reachedAt?: Date;
  /** Why the state is not `ok`. */
  readonly cause?: unknown;
  /** What to change in the settings of the store, as far as `ready()` could read them. */
  readonly warnings?: readonly string[];
}

/** What the server knows when it revokes. */
export interface RevocationContext {
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The largest `clockToleranceSeconds` of its issuers. */
  readonly toleranceSeconds: number;
  /** The principal of a target with a token. */
  readonly principal?: Principal;
}

/** What is revoked, for the option `revocation` of a server. */
export interface Revocations {
  /**
   * Returns whether a principal is revoked. It is called for every request with an accepted token, so it
   * should rarely need a promise. If it throws or rejects, the request gets 503.
   */
  isRevoked(principal: Principal): Pending<boolean>;
  /** Revokes a target. Resolves when every process that shares the store can read it. */
  revoke(target: RevocationTarget, options: RevocationOptions, context: RevocationContext): Promise<void>;
  /** Withdraws the revocation of a target. Returns whether there was one. */
  unrevoke(target: RevocationTarget, context: RevocationContext): Promise<boolean>;
  /** Resolves when the store can be asked. */
  ready(): Promise<void>;
  /** Returns the current state, without asking the store. */
  status(): RevocationStatus;
  /** Stops background work. */
  close(): void;
}

/**
 * What to revoke: one token, a session, a user, a client or an issuer. Without `issuer`, the tokens of every
 * issuer.
 */
export type RevocationTarget =
  | {
      /** A token that this server accepts. It is identified by its `jti`, or else by all its claims. */
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
       * Tokens that were issued then or earlier, and up to five seconds later, or `clockToleranceSeconds` if
       * that is longer: the clock of the issuer may be ahead. Default: now.
       */
      readonly before?: Date;
    }
  | {
      /** The claim `client_id`, `azp` or `cid` of the tokens. */
      readonly clientId: string;
      readonly issuer?: string;
      /** As for `userId`. */
      readonly before?: Date;
    }
  | {
      readonly issuer: string;
      /** As for `userId`. */
      readonly before?: Date;
    };

/** How long a revocation is kept, and why it was made. */
export interface RevocationOptions {
  /**
   * When the revocation can be forgotten, because the tokens have expired. Default: the `exp` of `token`;
   * without `token`, `keepSeconds` from now.
   */
  readonly until?: Date;
  /** Why, for operators. It is stored, and never sent to a client. */
  readonly reason?: string;
}
