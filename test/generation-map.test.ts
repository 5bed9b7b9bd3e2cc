import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GenerationMap } from "../src/generation-map.ts";

const filled = (maxEntries: number, keys: readonly number[]) => {
  const map = new GenerationMap<number, string>(maxEntries);
  for (const key of keys) map.set(key, `value ${key}`);
  return map;
};
const kept = (map: GenerationMap<number, string>, keys: Iterable<number>) =>
  // From the newest on: what is asked for is kept, and could push out another one.
  [...keys].reverse().filter((key) => map.get(key) !== undefined);

describe("a map of generations", () => {
  it("answers what was set last, and nothing for what was not", () => {
    const map = filled(10, [1, 2, 1]);
    map.set(1, "other");
    expect([map.get(1), map.get(2), map.get(3)]).toEqual(["other", "value 2", undefined]);
  });

  it("never holds more than it may, and half of that at least", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 21, max: 60 }), (maxEntries, count) => {
        const keys = [...Array(count).keys()];
        const { length } = kept(filled(maxEntries, keys), keys);
        expect(length).toBeLessThanOrEqual(maxEntries);
        expect(length).toBeGreaterThanOrEqual(Math.floor(maxEntries / 2));
      }),
    );
  });

  it("keeps what is asked for again, however much else comes", () => {
    const map = filled(10, [0]);
    for (let key = 1; key < 1_000; key += 1) {
      map.set(key, `value ${key}`);
      expect(map.get(0)).toBe("value 0");
    }
    expect(map.get(1)).toBeUndefined();
  });

  it("forgets what is deleted, from whichever half", () => {
    const map = filled(4, [1, 2, 3]);
    map.delete(1);
    map.delete(3);
    expect([1, 2, 3].map((key) => map.get(key))).toEqual([undefined, "value 2", undefined]);
  });

  it("does not bring back an old value in place of the newer one", () => {
    const map = filled(4, [1, 2]);
    map.set(1, "newer");
    for (const key of [3, 4]) map.set(key, "value");
    expect(map.get(1)).not.toBe("value 1");
  });
});
