interface Entry<Key, Value> {
  readonly key: Key;
  readonly value: Value;
  /** Whether the entry was read since the hand last passed it. */
  isUsed: boolean;
  readonly slot: number;
  readonly weight: number;
}

/**
 * A map that holds at most `maxEntries` entries, of at most `maxWeight` in total. A full map replaces entries
 * that were not read recently (the CLOCK algorithm): a read only sets a flag, so that a hit moves nothing.
 */
export class BoundedMap<Key, Value> {
  readonly #maxEntries: number;
  readonly #maxWeight: number;
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #slots: (Entry<Key, Value> | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  /** The slot whose entry is the next candidate for replacement. */
  #hand = 0;
  #weight = 0;

  /** `maxEntries` is an integer of at least 1. */
  constructor(maxEntries: number, maxWeight = Infinity) {
    this.#maxEntries = maxEntries;
    this.#maxWeight = maxWeight;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The total weight of all entries. */
  get weight(): number {
    return this.#weight;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (!entry.isUsed) entry.isUsed = true;
    return entry.value;
  }

  /** An entry that is heavier than the whole map may be is not stored. */
  set(key: Key, value: Value, weight = 0): void {
    this.delete(key);
    if (weight > this.#maxWeight) return;
    while (this.#entries.size >= this.#maxEntries || this.#weight + weight > this.#maxWeight) this.#evict();
    const slot = this.#freeSlots.pop() ?? this.#slots.length;
    const entry = { key, value, isUsed: false, slot, weight };
    this.#slots[slot] = entry;
    this.#entries.set(key, entry);
    this.#weight += weight;
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#slots[entry.slot] = undefined;
    this.#freeSlots.push(entry.slot);
    this.#weight -= entry.weight;
  }

  /**
   * Deletes at most `most` entries from the oldest on, up to the first that `isStale` keeps, and returns how
   * many.
   */
  deleteOldest(isStale: (value: Value) => boolean, most: number): number {
    let deleted = 0;
    for (const { key, value } of this.#entries.values()) {
      if (deleted >= most || !isStale(value)) break;
      this.delete(key);
      deleted += 1;
    }
    return deleted;
  }

  /** Removes the first entry that was not read since the hand last passed it. The map is not empty. */
  #evict(): void {
    for (;;) {
      const entry = this.#slots[this.#hand];
      this.#hand = (this.#hand + 1) % this.#slots.length;
      if (entry?.isUsed === false) {
        this.delete(entry.key);
        return;
      }
      if (entry) entry.isUsed = false;
    }
  }
}
