import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedMap } from "../../../src/core/runtime/bounded-map.ts";

const ACTION = fc.constantFrom("set", "get", "delete");

const filledMap = (maxEntries: number): BoundedMap<string, number> => {
  const map = new BoundedMap<string, number>(maxEntries);
  for (let index = 0; index < maxEntries; index += 1) map.set(`key ${index}`, index);
  return map;
};

describe("BoundedMap", () => {
  it.each([1, 2, 5])("holds at most %i entries and always returns the right value", (maxEntries) => {
    // Few more keys than the map can hold, so that most actions meet an entry.
    const key = fc.integer({ min: 0, max: maxEntries + 1 });
    fc.assert(
      fc.property(fc.array(fc.tuple(ACTION, key), { maxLength: 60 }), (actions) => {
        const map = new BoundedMap<number, number>(maxEntries);
        const latest = new Map<number, number>();
        for (const [index, [action, key]] of actions.entries()) {
          const sizeBefore = map.size;
          if (action === "set") {
            const wasKnown = map.get(key) !== undefined;
            map.set(key, index);
            latest.set(key, index);
            expect(map.get(key)).toBe(index);
            expect(map.size).toBe(wasKnown ? sizeBefore : Math.min(sizeBefore + 1, maxEntries));
          } else if (action === "delete") {
            const wasKnown = map.get(key) !== undefined;
            map.delete(key);
            latest.delete(key);
            expect(map.get(key)).toBeUndefined();
            expect(map.size).toBe(wasKnown ? sizeBefore - 1 : sizeBefore);
          } else {
            expect([undefined, latest.get(key)]).toContain(map.get(key));
            expect(map.size).toBe(sizeBefore);
          }
        }
        const held = [...latest].filter(([key, value]) => map.get(key) === value);
        expect(held).toHaveLength(map.size);
      }),
      { numRuns: 500 },
    );
  });

  it("keeps an entry that is read while new keys pass through, however many", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 8 }),
        fc.nat({ max: 7 }),
        fc.nat({ max: 50 }),
        (max, pick, scanned) => {
          const map = filledMap(max);
          const read = pick % max;
          for (let index = 0; index < scanned; index += 1) {
            expect(map.get(`key ${read}`)).toBe(read);
            map.set(`new ${index}`, index);
          }
          expect(map.get(`key ${read}`)).toBe(read);
        },
      ),
    );
  });

  it("keeps an entry that was read once while fewer new keys than maxEntries pass through", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.nat({ max: 7 }), (max, pick) => {
        const map = filledMap(max);
        const read = pick % max;
        map.get(`key ${read}`);
        for (let index = 1; index < max; index += 1) map.set(`new ${index}`, index);
        expect(map.get(`key ${read}`)).toBe(read);
      }),
    );
  });

  it("replaces the oldest entry when none was read, and when all were", () => {
    for (const isRead of [false, true]) {
      const map = filledMap(3);
      if (isRead) for (const key of ["key 0", "key 1", "key 2"]) map.get(key);
      map.set("new", 3);
      expect(["key 0", "key 1", "key 2", "new"].map((key) => map.get(key))).toEqual([undefined, 1, 2, 3]);
    }
  });

  it("deletes the entry at the hand, and fills its slot before it evicts another", () => {
    const map = filledMap(3);
    map.delete("key 0");
    expect([map.get("key 0"), map.size]).toEqual([undefined, 2]);
    map.set("new", 3);
    expect([map.get("key 1"), map.get("key 2"), map.get("new"), map.size]).toEqual([1, 2, 3, 3]);
    map.delete("new");
    map.delete("new");
    map.set("newer", 4);
    map.set("newest", 5);
    expect(map.size).toBe(3);
    expect(map.get("newest")).toBe(5);
  });

  it.each([1, 4, 10])("weighs at most %i", (maxWeight) => {
    const action = fc.tuple(ACTION, fc.integer({ min: 0, max: 6 }), fc.nat({ max: 12 }));
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const map = new BoundedMap<number, { readonly weight: number }>(4, maxWeight);
        const latest = new Map<number, { readonly weight: number }>();
        for (const [name, key, weight] of actions) {
          const entry = { weight };
          if (name === "set") {
            map.set(key, entry, weight);
            latest.set(key, entry);
            expect(map.get(key)).toBe(weight > maxWeight ? undefined : entry);
          }
          if (name === "delete") map.delete(key);
          if (name === "get") map.get(key);
          const held = [...latest].filter(([key, entry]) => map.get(key) === entry);
          expect(held).toHaveLength(map.size);
          expect(map.weight).toBe(held.reduce((total, [, entry]) => total + entry.weight, 0));
          expect(map.weight).toBeLessThanOrEqual(maxWeight);
          expect(map.size).toBeLessThanOrEqual(4);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("deletes the oldest entries, up to a number and up to the first that is kept", () => {
    const map = filledMap(6);
    expect(map.deleteOldest((value) => value < 4, 3)).toBe(3);
    expect(map.deleteOldest((value) => value < 4, 3)).toBe(1);
    expect(map.deleteOldest((value) => value === 5, 3)).toBe(0);
    expect([map.size, map.get("key 3"), map.get("key 4")]).toEqual([2, undefined, 4]);
  });
});
