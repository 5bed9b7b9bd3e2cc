import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findClosest } from "../../../src/core/runtime/closest.ts";

/** The distance of Levenshtein as it is defined: slow. */
function distanceOf(from: string, to: string): number {
  if (from === "" || to === "") return from.length + to.length;
  const [restOfFrom, restOfTo] = [from.slice(1), to.slice(1)];
  if (to.startsWith(from.charAt(0))) return distanceOf(restOfFrom, restOfTo);
  return (
    1 + Math.min(distanceOf(restOfFrom, to), distanceOf(from, restOfTo), distanceOf(restOfFrom, restOfTo))
  );
}

describe("findClosest", () => {
  it.each([
    ["a word with a character too few", "tokn", "token"],
    ["a word with a character too many", "tokken", "token"],
    ["a word with another character", "tokem", "token"],
    ["a word with two exchanged characters", "toekn", "token"],
    ["the same word", "audience", "audience"],
  ])("returns the word for %s", (_, word, expected) => {
    expect(findClosest(word, ["issuer", "token", "audience"], 2)).toBe(expected);
  });

  it("returns the first of words that are equally similar", () => {
    expect(findClosest("key", ["keys", "kex"], 2)).toBe("keys");
  });

  it("returns nothing if every word differs by more, or there is none", () => {
    expect(findClosest("abc", ["xyz"], 2)).toBeUndefined();
    expect(findClosest("abc", [], 2)).toBeUndefined();
  });

  it("agrees with the definition of the distance", () => {
    const words = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 6 });
    fc.assert(
      fc.property(words, fc.array(words, { maxLength: 4 }), fc.nat(3), (word, candidates, maxDistance) => {
        const distances = candidates.map((candidate) => distanceOf(word, candidate));
        const least = Math.min(...distances);
        const expected = least <= maxDistance ? candidates[distances.indexOf(least)] : undefined;
        expect(findClosest(word, candidates, maxDistance)).toBe(expected);
      }),
    );
  });
});
