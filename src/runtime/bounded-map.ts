interface Entry<Key, Value> {
  readonly key: Key;
  value: Value;
  /** Whether the entry was read since the hand last passed it. */
  isUsed: boolean;
  readonly slot: number;
}

/**
 * A map that holds at most `maxEntries` entries. A full map replaces an entry that was not read recently (the
 * CLOCK algorithm): a read only sets a flag, so that a hit moves nothing.
 */
export class BoundedMap<Key, Value> {
  readonly #maxEntries: number;
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #slots: (Entry<Key, Value> | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  /** The slot whose entry is the next candidate for replacement. */
  #hand = 0;

  /** `maxEntries` is an integer of at least 1. */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (!entry.isUsed) entry.isUsed = true;
    return entry.value;
  }

  set(key: Key, value: Value): void {
    const known = this.#entries.get(key);
    if (known) {
      known.value = value;
      return;
    }
    const isFull = this.#entries.size >= this.#maxEntries;
    const slot = isFull ? this.#evict() : (this.#freeSlots.pop() ?? this.#slots.length);
    const entry = { key, value, isUsed: false, slot };
    this.#slots[slot] = entry;
    this.#entries.set(key, entry);
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#slots[entry.slot] = undefined;
    this.#freeSlots.push(entry.slot);
  }

  /** Removes the first entry that was not read since the hand last passed it, and returns its slot. */
  #evict(): number {
    for (;;) {
      const slot = this.#hand;
      // eslint-disable-next-line @typescript-eslint/no-non-null-assertion -- a full map has no empty slot
      const entry = this.#slots[slot]!;
      this.#hand = (slot + 1) % this.#maxEntries;
      if (!entry.isUsed) {
        this.#entries.delete(entry.key);
        return slot;
      }
      entry.isUsed = false;
    }
  }
}
