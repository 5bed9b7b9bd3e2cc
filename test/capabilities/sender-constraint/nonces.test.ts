import { describe, expect, it } from "vitest";
import { Nonces } from "../../../src/capabilities/sender-constraint/nonces.ts";

const LIFETIME = 60;
const START = 1_800_000_000;

/** Nonces with a clock in seconds after the start of a time slot. */
function noncesAt(seconds: number, ...secrets: readonly string[]): Nonces {
  return new Nonces(secrets.length > 0 ? secrets : ["first"], LIFETIME, () => (START + seconds) * 1000);
}

describe("a nonce", () => {
  it("stays the same within one time slot, and changes in the next", () => {
    const nonces = [0, 59, 60].map((seconds) => noncesAt(seconds).current());
    expect(nonces[0]).toMatch(/^[\w-]{43}$/);
    expect(nonces[1]).toBe(nonces[0]);
    expect(nonces[2]).not.toBe(nonces[0]);
  });

  it("changes while a server runs", () => {
    let seconds = 0;
    const nonces = new Nonces(["first"], LIFETIME, () => (START + seconds) * 1000);
    const before = nonces.current();
    seconds = LIFETIME;
    expect(nonces.current()).toBe(noncesAt(LIFETIME).current());
    expect(nonces.current()).not.toBe(before);
  });

  it.each([
    ["in its own slot", 0, { isExpiring: false, endSeconds: START + 120 }],
    ["in the next slot, in which it is replaced", 60, { isExpiring: true, endSeconds: START + 120 }],
    ["by a clock that is one slot behind", -1, { isExpiring: false, endSeconds: START + 120 }],
    ["not two slots later", 120, undefined],
    ["not by a clock that is two slots behind", -61, undefined],
  ])("accepts it %s", (_, seconds, expected) => {
    expect(noncesAt(seconds).find(noncesAt(0).current())).toEqual(expected);
  });

  it("accepts a nonce of an older secret, and replaces it", () => {
    const old = noncesAt(0, "second").current();
    expect(noncesAt(0, "first", "second").find(old)).toEqual({ isExpiring: true, endSeconds: START + 120 });
    expect(noncesAt(0, "first", "second").current()).toBe(noncesAt(0, "first").current());
    expect(noncesAt(0, "first").find(old)).toBeUndefined();
  });

  it("does not accept it if no secret made it, or after any change", () => {
    const nonce = noncesAt(0).current();
    const changed = [
      ...Array.from(nonce, (letter, index) => nonce.slice(0, index) + other(letter) + nonce.slice(index + 1)),
      ...Array.from(nonce, (_, index) => nonce.slice(0, index)),
      ...[`${nonce}A`, `${nonce}=`, `${nonce} `, ` ${nonce}`, `A${nonce}`, nonce + nonce],
      ...[nonce.toLowerCase(), "a".repeat(43), Buffer.from(nonce, "base64url").toString("hex")],
    ];
    expect(changed.filter((value) => noncesAt(0).find(value) !== undefined)).toEqual([]);
  });
});

const other = (letter: string): string => (letter === "A" ? "B" : "A");
