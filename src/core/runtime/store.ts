/** The interface of the stores that several processes share. */

/**
 * A store of strings that expire. `memoryStore` and `redisStore` of `scopegate/store` create stores; an
 * adapter for another database takes about twenty lines. Callers limit the time of each call.
 */
export interface Store {
  /**
   * Returns a result for each key, in the order of the keys: its value, `undefined` if it has none, or an
   * `Error` if this key can't be read. Rejects if no key can be read.
   */
  get(keys: readonly string[]): Promise<readonly (string | undefined | Error)[]>;
  /**
   * Stores a value, and resolves to `true` when it's stored. With `ifAbsent`, it resolves to `false` if the
   * key has a value, which it doesn't change. Every other result counts as a failure.
   */
  set(key: string, value: string, options?: StoreOptions): Promise<boolean>;
  /** Deletes a key. The key may have no value. */
  delete(key: string): Promise<void>;
  /** Returns the time of the store's clock, in milliseconds since the epoch. Optional. */
  now?(): Promise<number>;
  /** Returns what an operator should change, such as settings that can lose keys. Optional. */
  findWarnings?(): Promise<readonly string[]>;
}

/** How a value is stored. */
export interface StoreOptions {
  /** After how many milliseconds, by the clock of the store, the key is deleted. Default: never. */
  readonly ttlMs?: number;
  /** Whether to set the key only if it has no value, atomically for all processes. Default: `false`. */
  readonly ifAbsent?: boolean;
}

/** The options that this package adds for values that clients create. Other stores ignore them. */
export interface OwnedOptions extends StoreOptions {
  /** The client that creates the value. A store in memory limits each client, so that none can fill it. */
  readonly owner?: string | undefined;
}
