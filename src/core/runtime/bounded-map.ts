/** The weight of an entry. Other entries may have the same shared part, which counts only once. */
export interface Weight {
  readonly exclusive: number;
  readonly shared?: SharedPart;
}

/** The same object in all entries with this part. */
export interface SharedPart {
  readonly weight: number;
}

const NONE: Weight = { exclusive: 0 };

interface Entry<Key, Value> {
  readonly key: Key;
  readonly value: Value;
  /** Whether the entry was read since the hand last passed it. */
  isUsed: boolean;
  readonly slot: number;
  /** The two parts of its weight are separate properties, because an object would need 40 bytes. */
  readonly exclusive: number;
  readonly shared: SharedPart | undefined;
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
  /** The number of entries with each shared part. */
  readonly #holders = new Map<SharedPart, number>();

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
  set(key: Key, value: Value, weight = NONE): number {
    this.delete(key);
    const { exclusive, shared } = weight;
    if (exclusive + (shared?.weight ?? 0) > this.#maxWeight) return 0;
    const isOver = () => this.#weight + exclusive + this.#added(shared) > this.#maxWeight;
    let replaced = 0;
    for (; this.#entries.size >= this.#maxEntries || isOver(); replaced += 1) this.#evict();
    const slot = this.#freeSlots.pop() ?? this.#slots.length;
    const entry = { key, value, isUsed: false, slot, exclusive, shared };
    this.#slots[slot] = entry;
    this.#entries.set(key, entry);
    this.#weight += exclusive + this.#added(shared);
    if (shared) this.#holders.set(shared, (this.#holders.get(shared) ?? 0) + 1);
    return replaced;
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#slots[entry.slot] = undefined;
    this.#freeSlots.push(entry.slot);
    const { exclusive, shared } = entry;
    const holders = shared && (this.#holders.get(shared) ?? 1) - 1;
    if (holders) this.#holders.set(shared, holders);
    else if (shared) this.#holders.delete(shared);
    this.#weight -= exclusive + this.#added(shared);
  }

  /** Returns the weight that a shared part adds: 0 if another entry already has it. */
  #added(shared: SharedPart | undefined): number {
    return shared && !this.#holders.has(shared) ? shared.weight : 0;
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
