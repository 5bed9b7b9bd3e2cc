/** Nonces for DPoP proofs (RFC 9449 section 8), which no process has to remember. */
import { areEqual } from "../../runtime/constant-time.ts";
import { createHmac } from "node:crypto";
import { readClock } from "../../runtime/clock.ts";

/** A nonce is the HMAC of a time slot: all processes with one secret accept it. */
export class Nonces {
  readonly #secret: string | Uint8Array;
  readonly #slotMs: number;
  readonly #now: () => number;
  /** Those of the slots around the current one. */
  #slot = Number.NaN;
  #previous = "";
  #current = "";
  #next = "";

  constructor(secret: string | Uint8Array, lifetimeSeconds: number, now: () => number) {
    this.#secret = secret;
    this.#slotMs = lifetimeSeconds * 1000;
    this.#now = now;
  }

  /** Returns the nonce that clients should use now. It is accepted in this slot and in the next one. */
  current(): string {
    this.#update();
    return this.#current;
  }

  /** Returns whether a nonce is accepted, and whether it expires soon. */
  check(nonce: string): "fresh" | "expiring" | "unknown" {
    this.#update();
    if (areEqual(nonce, this.#current)) return "fresh";
    if (areEqual(nonce, this.#previous)) return "expiring";
    // From a process whose clock is ahead.
    return areEqual(nonce, this.#next) ? "fresh" : "unknown";
  }

  #update(): void {
    const slot = Math.floor(readClock(this.#now).getTime() / this.#slotMs);
    if (slot === this.#slot) return;
    this.#slot = slot;
    this.#previous = this.#nonceOf(slot - 1);
    this.#current = this.#nonceOf(slot);
    this.#next = this.#nonceOf(slot + 1);
  }

  #nonceOf(slot: number): string {
    return createHmac("sha256", this.#secret).update(`scopegate:dpop-nonce:${slot}`).digest("base64url");
  }
}
