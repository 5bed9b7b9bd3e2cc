/** The interface of the stores that several processes share. */

/**
 * A store of strings that expire. `memoryStore` and `redisStore` of `scopegate/store` are stores, and an
 * adapter to another one is about twenty lines. Every call is limited in time by its caller.
 */
export interface Store {
  /** Returns the value of each key, in the order of the keys; `undefined` for a key that has none. */
  get(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /**
   * Stores a value, and resolves when it is stored. With `until`, the key is deleted then, or a little later.
   * With `ifAbsent`, only a key that has no value is set, in one step for all processes. Returns whether the
   * value was stored.
   */
  set(key: string, value: string, options?: StoreOptions): Promise<boolean>;
  /** Deletes a key. It is no mistake if the key has no value. */
  delete(key: string): Promise<void>;
  /** Returns what an operator should change, such as settings that lose keys. Absent: nothing is known. */
  findWarnings?(): Promise<readonly string[]>;
}

/** How a value is stored. */
export interface StoreOptions {
  /** When the key is deleted. Default: never. */
  readonly until?: Date;
  /** Whether only a key without a value is set. Default: `false`. */
  readonly ifAbsent?: boolean;
}
