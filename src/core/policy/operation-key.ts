/** What the key of an operation has instead of a path. */
export interface OperationKey {
  readonly method: string;
  /** Equal for keys that differ only in the names of variables. */
  readonly identity: string;
  /** Returns the key, without `MCP`, of the operations that this and another key match, if there are any. */
  readonly meet: (other: OperationKey) => string | undefined;
}
