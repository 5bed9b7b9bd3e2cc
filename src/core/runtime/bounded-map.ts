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
 * that weren't read recently (the CLOCK algorithm): a read only sets a flag, so that a hit moves nothing.
 */
export class BoundedMap<Key, Value> {
  readonly #maxEntries: number;
  readonly #maxWeight: number;
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #slots: (Entry<Key, Value> | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  /** The slot of the next candidate for replacement. */
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

  /** Returns the total weight of all entries. */
  get weight(): number {
    return this.#weight;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (!entry.isUsed) entry.isUsed = true;
    return entry.value;
  }

  /** Returns how many entries it replaced. An entry that alone exceeds `maxWeight` isn't stored. */
  set(key: Key, value: Value, weight = 0): number {
    this.delete(key);
    if (weight > this.#maxWeight) return 0;
    const isFull = () => this.#entries.size >= this.#maxEntries || this.#weight + weight > this.#maxWeight;
    let replaced = 0;
    for (; isFull(); replaced += 1) this.#evict();
    const slot = this.#freeSlots.pop() ?? this.#slots.length;
    const entry = { key, value, isUsed: false, slot, weight };
    this.#slots[slot] = entry;
    this.#entries.set(key, entry);
    this.#weight += weight;
    return replaced;
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#slots[entry.slot] = undefined;
    this.#freeSlots.push(entry.slot);
    this.#weight -= entry.weight;
  }

  /** Deletes up to `most` of the oldest entries, until `isStale` is false, and returns how many. */
  deleteOldest(isStale: (value: Value) => boolean, most: number): number {
    let deleted = 0;
    for (const { key, value } of this.#entries.values()) {
      if (deleted >= most || !isStale(value)) break;
      this.delete(key);
      deleted += 1;
    }
    return deleted;
  }

  /** Removes the first entry that wasn't read since the hand last passed it. The map must not be empty. */
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
