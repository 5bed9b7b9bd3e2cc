/** What the key of an operation has instead of a path. */
export interface OperationKey {
  readonly method: string;
  /** Equal for keys that differ only in the names of variables. */
  readonly identity: string;
  /** Returns whether it matches every operation that another key matches. */
  readonly includes: (other: OperationKey) => boolean;
}
