/**
 * A map of bounded size that forgets what nobody asks for: when its young half is full that becomes the old one, and what
 * was in the old one is gone. What is asked for moves to the young half.
 */
export class GenerationMap<Key, Value> {
  readonly #half: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /** `maxEntries` is a whole number from 1 on. */
  constructor(maxEntries: number) {
    this.#half = Math.ceil(maxEntries / 2);
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: Key, value: Value): void {
    this.#old.delete(key);
    this.#young.set(key, value);
    if (this.#young.size < this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: Key): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
