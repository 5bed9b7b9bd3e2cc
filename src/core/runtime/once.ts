/** Ids that may be used once. */
import type { Breaker } from "./breaker.ts";
import type { Store } from "./store.ts";

interface MemoryLimits {
  readonly maxEntries: number;
  readonly now: () => number;
}

/** The used ids in a store, or in memory. */
export class UsedIds {
  readonly #store: Store | undefined;
  readonly #memory: MemoryLimits;
  #breaker: Breaker | undefined;
  #loading: Promise<Breaker> | undefined;

  constructor(store: Store | undefined, memory: MemoryLimits) {
    this.#store = store;
    this.#memory = memory;
  }

  /** Why the store can't remember ids; `undefined` if it can, or wasn't asked yet. */
  get fault(): Error | undefined {
    return this.#breaker?.fault;
  }

  /** Rejects if the store doesn't keep its contract. */
  async ready(options: { readonly readOnly?: boolean } = {}): Promise<void> {
    await (await this.#load()).prove(options.readOnly);
  }

  /** Returns `true` only for the first call with an id. Rejects if the store doesn't confirm it. */
  async add(id: string, ttlMs: number, owner: string): Promise<boolean> {
    return (await this.#load()).rememberOnce(id, ttlMs, owner);
  }

  /** Services that remember no ids don't load it. The first calls share one memory. */
  #load(): Promise<Breaker> {
    return (this.#loading ??= this.#create());
  }

  async #create(): Promise<Breaker> {
    const { breakerOf } = await import("./breaker.ts");
    const { createMemoryStore } = await import("./memory-store.ts");
    const { maxEntries, now } = this.#memory;
    this.#breaker = breakerOf(this.#store ?? createMemoryStore(maxEntries, now));
    return this.#breaker;
  }
}
