/** Something that happened to a key source after construction: for logs and alarms, never for a client. */
export interface KeyEvent {
  /**
   * `fetched`: a remote set was read. `rotated`: other keys are in use now. `failed`: the source cannot be read, or a part
   * of it cannot be used; the keys that were good stay, for a bounded time where they are remote. `stale`: keys are in use
   * that are older than `maxAgeMs`, because their source has failed.
   */
  readonly type: "fetched" | "rotated" | "failed" | "stale";
  /** The file, or the URL without its query. */
  readonly source: string;
  /** The issuer whose keys these are, where the options name it. */
  readonly issuer?: string;
  /** What failed and why; never holds key material. */
  readonly message?: string;
}
