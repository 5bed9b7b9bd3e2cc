import { type Shot } from "./tokens.ts";

/** What the load sends at the moment: every other request is valid, and the others take turns. */
export class Mix {
  #valid: Shot | undefined;
  #faulty: readonly Shot[] = [];
  #older: Shot | undefined;
  #unknown: Shot | undefined;
  #round: readonly Shot[] = [];

  /** The tokens of a new key; those of the one before it are older ones now. */
  renew(valid: Shot, faulty: readonly Shot[]): void {
    this.#older = this.#valid && { ...this.#valid, kind: "valid, older key" };
    this.#valid = valid;
    this.#faulty = faulty;
    this.#arrange();
  }

  /** The older key is withdrawn; its tokens are sent on. */
  withdrawOlder(): void {
    this.#older &&= { ...this.#older, kind: "withdrawn key" };
    this.#arrange();
  }

  /** Tokens of keys that nobody has make a service ask the issuer again; without them only age does. */
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
