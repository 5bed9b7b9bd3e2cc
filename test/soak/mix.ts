import { type Shot } from "./tokens.ts";

/**
 * The tokens that the load sends now. Every second request has a valid token, and the other tokens take
 * turns.
 */
export class Mix {
  #valid: Shot | undefined;
  #faulty: readonly Shot[] = [];
  #older: Shot | undefined;
  #unknown: Shot | undefined;
  #round: readonly Shot[] = [];

  /** Sets the tokens of a new key. The valid token of the previous key becomes the older one. */
  renew(valid: Shot, faulty: readonly Shot[]): void {
    this.#older = this.#valid && { ...this.#valid, kind: "valid, older key" };
    this.#valid = valid;
    this.#faulty = faulty;
    this.#arrange();
  }

  /** Marks the older key as withdrawn. Its token is still sent. */
  withdrawOlder(): void {
    this.#older &&= { ...this.#older, kind: "withdrawn key" };
    this.#arrange();
  }

  /**
   * Sets or removes a token with an unknown `kid`. Such a token makes a service fetch the keys before they
   * expire.
   */
  setUnknown(unknown: Shot | undefined): void {
    this.#unknown = unknown;
    if (!unknown && this.#older?.kind === "withdrawn key") this.#older = undefined;
    this.#arrange();
  }

  at(turn: number): Shot | undefined {
    return turn % 2 === 0 ? this.#valid : this.#round[((turn - 1) / 2) % this.#round.length];
  }

  #arrange(): void {
    this.#round = [...this.#faulty, this.#older, this.#unknown].filter((shot) => shot !== undefined);
  }
}
