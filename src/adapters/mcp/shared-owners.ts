/** The owners that several processes know. */
import { type Breaker, breakerOf } from "../../core/runtime/breaker.ts";
import type { Store } from "../../core/runtime/store.ts";

/** How long the store keeps an owner. */
const KEPT_MS = 7 * 86_400_000;

export class SharedOwners {
  readonly #kind: string;
  readonly #breaker: Breaker;

  constructor(kind: string, store: Store) {
    this.#kind = kind;
    this.#breaker = breakerOf(store);
  }

  /** Rejects if the store doesn't respond. */
  async find(id: string): Promise<{ readonly owner: string | undefined; readonly note: string }> {
    const value = await this.#breaker.read(this.#keyOf(id));
    const [owner, note = ""] = value?.split(" ", 2) ?? [];
    return { owner, note: Buffer.from(note, "base64url").toString() };
  }

  /** Has no effect if the id has an owner. */
  async add(id: string, owner: string, note: string): Promise<void> {
    const value = `${owner} ${Buffer.from(note).toString("base64url")}`;
    await this.#breaker.set(this.#keyOf(id), value, { ttlMs: KEPT_MS, ifAbsent: true });
  }

  remove(id: string): Promise<void> {
    return this.#breaker.delete(this.#keyOf(id));
  }

  #keyOf(id: string): string {
    return `mcp-${this.#kind}:${id}`;
  }
}
