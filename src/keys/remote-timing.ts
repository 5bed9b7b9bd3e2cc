/** When a remote set is read, and for how long it is used. All in milliseconds. */
export interface RemoteTiming {
  /** How long one reading may take, discovery and redirects included. Default: `5000`. */
  readonly timeoutMs: number;
  /** How long the source is left alone after it was read for a key that it did not have, or failed. Default: `30_000`. */
  readonly cooldownMs: number;
  /**
   * How old keys may be: a key that its issuer withdrew is refused after this time at the latest, as long as the issuer
   * answers. They are read again in the background before that. Default: `600_000`, ten minutes.
   */
  readonly maxAgeMs: number;
  /** How much longer the last good keys are used while their source fails. Default: `3_600_000`, one hour. */
  readonly staleMs: number;
}

export const DEFAULT_TIMING: RemoteTiming = {
  timeoutMs: 5_000,
  cooldownMs: 30_000,
  maxAgeMs: 600_000,
  staleMs: 3_600_000,
};
