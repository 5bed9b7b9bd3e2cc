import type { Algorithm } from "./algorithm.ts";
import type { KeyFetch } from "./fetch-json.ts";

/**
 * Whether the keys of a source can be used. `fresh`: they are. `stale`: the last good keys are used because
 * the source fails. `unavailable`: there are no usable keys, and requests with a token get 503. `not loaded`:
 * not read yet.
 */
export type KeyState = "fresh" | "stale" | "unavailable" | "not loaded";

/** The state of a key source at one moment, for a status page. Contains no key material. */
export interface KeySourceStatus {
  /** The issuer of these keys, if the options name one. */
  readonly issuer?: string;
  /** The path of the file, the URL without its query, `verificationKeys` or `jwks`. */
  readonly source: string;
  /** Where OpenID Connect publishes the metadata of the issuer; only for a source with `discovery`. */
  readonly discovery?: string;
  /** Whether the keys can be used. */
  readonly state: KeyState;
  /** The `kid`s of the keys in use. Keys without a `kid` aren't listed. */
  readonly keyIds: readonly string[];
  /** When the keys were last loaded; absent for keys in the options. */
  readonly lastSuccess?: Date;
  /** When loading last failed, and why. It stays after a success. */
  readonly lastFailure?: { readonly time: Date; readonly reason: string };
  /** Until when the last good keys are used. Present only while the source fails. */
  readonly staleUntil?: Date;
}

/** Why a source was read: see `KeyEvent`. */
export type KeyLoadReason =
  "first_use" | "age" | "retry" | "changed" | "unknown_kid" | "bad_signature" | "requested";

/** What happened to a key source after construction. For logs and alerts; never sent to a client. */
export interface KeyEvent {
  /**
   * `fetched`: a remote set was fetched, or a file was read again. `rotated`: the keys in use have changed.
   * `failed`: the source, or a part of it, can't be used. `stale`: from now on the last good keys are in use
   * because their source fails, until `staleUntil` at most. `stale_ended`: the source works again or, with a
   * `message`, the keys are too old.
   */
  readonly type: "fetched" | "rotated" | "failed" | "stale" | "stale_ended";
  /** The path of the file, or the URL without its query. */
  readonly source: string;
  /** The issuer of these keys, if the options name one. */
  readonly issuer?: string;
  /** What failed and why. Never contains key material. */
  readonly message?: string;
  /** When it happened, by the server's clock. */
  readonly time: Date;
  /**
   * Why the source was last read. `first_use`: no keys were loaded. `age`: the keys were old. `retry`: the
   * last attempt had failed. `changed`: the file had changed. `unknown_kid`, `bad_signature`: a token wasn't
   * signed by a known key. `requested`: `ready` or `refreshKeys` was called.
   */
  readonly reason: KeyLoadReason;
  /** The `kid`s of the keys in use. */
  readonly keyIds: readonly string[];
  /** Until when the last good keys are used. Present only while the source fails. */
  readonly staleUntil?: Date;
}

/** The context of every key source. */
export interface KeySourceContext {
  readonly algorithms: readonly Algorithm[];
  readonly issuer: string | undefined;
  /** The path of the source in the options, for error messages. */
  readonly path: readonly (string | number)[];
  readonly now: () => number;
  readonly onKeyEvent: (event: Omit<KeyEvent, "issuer">) => void;
  /** Returns the `fetch` of a source that isn't trusted with every address. Absent: it's used as it is. */
  readonly guardFetch?: ((fetch: KeyFetch | undefined) => KeyFetch) | undefined;
}
