/** A map of bounded size that forgets first what was asked for or set longest ago. */
export class RecencyMap<Key, Value> {
  readonly #maxEntries: number;
  /** In the order of last use: a map keeps the order in which keys were added. */
  readonly #entries = new Map<Key, Value>();
  /** The last entry: what is asked for again and again stays where it is, and is not looked for. */
  #newest: Key | undefined;
  #newestValue: Value | undefined;

  /** `maxEntries` is a whole number from 1 on. */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    if (key === this.#newest) return this.#newestValue;
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#append(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#append(key, value);
    if (this.#entries.size <= this.#maxEntries) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key);
    if (key === this.#newest) this.#newest = this.#newestValue = undefined;
  }

  #append(key: Key, value: Value): void {
    this.#entries.set(key, value);
    this.#newest = key;
    this.#newestValue = value;
  }
}
