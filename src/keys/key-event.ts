/** Something that happened to a key source after construction. */
export interface KeyEvent {
  /** `rotated`: other keys are in use now. `failed`: the new ones cannot be used, the old ones stay. */
  readonly type: "rotated" | "failed";
  readonly source: string;
  /** Why it failed; never holds key material. */
  readonly message?: string;
}
