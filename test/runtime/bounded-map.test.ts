import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RecencyMap } from "../../src/runtime/bounded-map.ts";

const USE = fc.constantFrom("set", "get", "delete");

describe("a map by recency", () => {
  it("answers what was set last, and nothing for what was not", () => {
    const map = new RecencyMap<string, number>(3);
    map.set("a", 1);
    map.set("a", 2);
    expect([map.get("a"), map.get("b"), map.size]).toEqual([2, undefined, 1]);
  });

  it.each([1, 2, 5])("holds %i entries and no more: the ones used last", (maxEntries) => {
    // Few keys more than there is room for: most uses then meet an entry.
    const key = fc.integer({ min: 0, max: maxEntries + 1 });
    fc.assert(
      fc.property(fc.array(fc.tuple(USE, key), { maxLength: 60 }), (uses) => {
        const map = new RecencyMap<number, string>(maxEntries);
        let recent: number[] = [];
        for (const [use, key] of uses) {
          if (use === "delete") {
            map.delete(key);
            recent = recent.filter((one) => one !== key);
            continue;
          }
          const isSet = use === "set";
          const isKnown = recent.includes(key);
          if (isSet) map.set(key, `value ${key}`);
          else expect(map.get(key)).toBe(isKnown ? `value ${key}` : undefined);
          if (isSet || isKnown) recent = [key, ...recent.filter((one) => one !== key)].slice(0, maxEntries);
        }
        expect(map.size).toBe(recent.length);
      }),
      { numRuns: 500 },
    );
  });

  it("forgets what was used longest ago, whatever was set first", () => {
    const map = new RecencyMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    expect(map.get("a")).toBe(1);
    map.set("c", 3);
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, undefined, 3]);
  });

  it("forgets what is deleted", () => {
    const map = new RecencyMap<string, number>(3);
    map.set("a", 1);
    map.delete("a");
    expect([map.get("a"), map.size]).toEqual([undefined, 0]);
  });
});
