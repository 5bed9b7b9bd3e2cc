import { type Algorithm } from "./algorithm.ts";

/** Something that happened to a key source after construction. For logs and alerts; it is never sent to a client. */
export interface KeyEvent {
  /**
   * `fetched`: a remote set was fetched, or a file was read again. `rotated`: the keys in use have changed. `failed`: the
   * source, or a part of it, cannot be used. `stale`: the last good keys are in use because their source fails; they are
   * used for `staleMs` at most.
   */
  readonly type: "fetched" | "rotated" | "failed" | "stale";
  /** The path of the file, or the URL without its query. */
  readonly source: string;
  /** The issuer of these keys, if the options name one. */
  readonly issuer?: string;
  /** What failed and why. Never contains key material. */
  readonly message?: string;
}

/** What every key source is created with. */
export interface KeySourceContext {
  readonly algorithms: readonly Algorithm[];
  readonly issuer: string | undefined;
  /** The path of the source in the options, for error messages. */
  readonly path: readonly (string | number)[];
  readonly now: () => number;
  readonly onKeyEvent: (event: Omit<KeyEvent, "issuer">) => void;
}
