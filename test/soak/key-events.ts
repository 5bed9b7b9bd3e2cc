import { type KeyEvent } from "scopegate";
import { type Row } from "../support/table.ts";

const TYPES: readonly KeyEvent["type"][] = ["fetched", "rotated", "failed", "stale", "stale_ended"];

/** Counts the key events of each service. */
export class KeyEvents {
  readonly #counts = new Map<string, Map<KeyEvent["type"], number>>();

  add(service: string, { type }: KeyEvent): void {
    const counts = this.#counts.get(service) ?? new Map<KeyEvent["type"], number>();
    this.#counts.set(service, counts.set(type, (counts.get(type) ?? 0) + 1));
  }

  rows(): readonly Row[] {
    return [...this.#counts].map(([service, counts]) => [
      service,
      ...TYPES.map((type) => counts.get(type) ?? 0),
    ]);
  }
}
