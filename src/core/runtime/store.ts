/** The interface of the stores that several processes share. */

/**
 * A store of strings that expire. `memoryStore` and `redisStore` of `scopegate/store` create stores; an
 * adapter for another database takes about twenty lines. Callers limit the time of each call.
 */
export interface Store {
  /** Returns the value of each key, in the order of the keys; `undefined` for a key that has none. */
  get(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /**
   * Stores a value, and resolves when it's stored. With `until`, the key is deleted at that time or a little
   * later. With `ifAbsent`, the key is set only if it has no value, atomically for all processes. Returns
   * whether the value was stored.
   */
  set(key: string, value: string, options?: StoreOptions): Promise<boolean>;
  /** Deletes a key. The key may have no value. */
  delete(key: string): Promise<void>;
  /** Returns what an operator should change, such as settings that can lose keys. Optional. */
  findWarnings?(): Promise<readonly string[]>;
}

/** How a value is stored. */
export interface StoreOptions {
  /** When the key is deleted. Default: never. */
  readonly until?: Date;
  /** Whether to set the key only if it has no value. Default: `false`. */
  readonly ifAbsent?: boolean;
}

/** The options that this package adds for values that clients create. Other stores ignore them. */
export interface OwnedOptions extends StoreOptions {
  /** The client that creates the value. A store in memory limits each client, so that none can fill it. */
  readonly owner?: string | undefined;
}
