/** Nonces for DPoP proofs (RFC 9449 section 9), without any state. */
import { createHmac } from "node:crypto";
import { readClock } from "../../core/runtime/clock.ts";
import { areEqual } from "../../core/runtime/constant-time.ts";

export interface KnownNonce {
  /** Whether the client needs a new nonce for its next requests. */
  readonly isExpiring: boolean;
  /** Until when the nonce is accepted, in seconds since the epoch. */
  readonly endSeconds: number;
}

/** The nonces of one time slot: one for each secret. The first one is sent to clients. */
interface Slot {
  readonly index: number;
  readonly nonces: readonly string[];
}

/** A nonce is the HMAC of a time slot, so all processes with the same secret accept it. */
export class Nonces {
  readonly #secrets: readonly (string | Uint8Array)[];
  readonly #lifetimeSeconds: number;
  readonly #now: () => number;
  /** The previous, the current and the next slot, because the clock of another process may be ahead. */
  #slots: readonly Slot[] = [];

  /** The first secret makes nonces, and the nonces of every secret are accepted. */
  constructor(secrets: readonly (string | Uint8Array)[], lifetimeSeconds: number, now: () => number) {
    this.#secrets = secrets;
    this.#lifetimeSeconds = lifetimeSeconds;
    this.#now = now;
  }

  /** Returns the nonce that clients should use now. It's accepted in this slot and in the next one. */
  current(): string {
    return this.#slotsOfNow()[1]?.nonces[0] ?? "";
  }

  /** Finds a nonce; `undefined` if it isn't accepted. */
  find(nonce: string): KnownNonce | undefined {
    const slots = this.#slotsOfNow();
    const slot = slots.find(({ nonces }) => nonces.some((accepted) => areEqual(nonce, accepted)));
    if (!slot) return undefined;
    const isNewest = slot !== slots[0] && slot.nonces.indexOf(nonce) === 0;
    return { isExpiring: !isNewest, endSeconds: (slot.index + 2) * this.#lifetimeSeconds };
  }

  #slotsOfNow(): readonly Slot[] {
    const current = Math.floor(readClock(this.#now).getTime() / 1000 / this.#lifetimeSeconds);
    if (this.#slots[1]?.index !== current)
      this.#slots = [current - 1, current, current + 1].map((index) => ({
        index,
        nonces: this.#secrets.map((secret) => nonceOf(secret, index)),
      }));
    return this.#slots;
  }
}

const nonceOf = (secret: string | Uint8Array, slot: number): string =>
  createHmac("sha256", secret).update(`scopegate:dpop-nonce:${slot}`).digest("base64url");
