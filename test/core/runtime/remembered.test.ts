import { describe, expect, it } from "vitest";
import { type LookupResult, Remembered } from "../../../src/core/runtime/remembered.ts";

const result = (value: string, until = 100): LookupResult<string> => ({ value, until });
const find = (lookupResult: LookupResult<string>) => () => Promise.resolve(lookupResult);
const fails = () => Promise.reject(new Error("down"));

describe("Remembered", () => {
  it("returns a result from the start of its lookup until its end", async () => {
    const remembered = new Remembered<string>({ maxEntries: 2 });
    expect(await remembered.lookUp("a", 10, find(result("A")))).toBe("A");
    expect([10, 99, 100].map((now) => remembered.get("a", now))).toEqual(["A", "A", undefined]);
    expect(remembered.get("b", 10)).toBeUndefined();
  });

  it("does not return a result if the clock was set back, because its age is not known", async () => {
    const remembered = new Remembered<string>({ maxEntries: 2 });
    await remembered.lookUp("a", 10, find(result("A")));
    expect(remembered.get("a", 9)).toBeUndefined();
  });

  it("looks a key up once for concurrent requests, and each other key on its own", async () => {
    const remembered = new Remembered<string>({ maxEntries: 2 });
    let count = 0;
    const slow = async () => {
      count += 1;
      await Promise.resolve();
      return result("A");
    };
    const pending = [1, 2, 3].map((now) => remembered.lookUp("a", now, slow));
    expect([remembered.lookups.has("a"), remembered.lookups.has("b")]).toEqual([true, false]);
    const other = remembered.lookUp("b", 1, slow);
    expect(remembered.lookups.size).toBe(2);
    expect(await Promise.all([...pending, other])).toEqual(["A", "A", "A", "A"]);
    expect([count, remembered.lookups.size]).toEqual([2, 0]);
  });

  it("remembers no failure, also not of a function that throws before it returns a promise", async () => {
    const remembered = new Remembered<string>({ maxEntries: 2 });
    await expect(remembered.lookUp("a", 1, fails)).rejects.toThrow("down");
    const throwing = () => {
      throw new Error("broken");
    };
    await expect(remembered.lookUp("a", 1, throwing)).rejects.toThrow("broken");
    expect(remembered.lookups.size).toBe(0);
    expect(await remembered.lookUp("a", 1, find(result("A")))).toBe("A");
  });

  it("keeps a result while its next lookup fails", async () => {
    const remembered = new Remembered<string>({ maxEntries: 2 });
    await remembered.lookUp("a", 1, find(result("A")));
    await remembered.lookUp("a", 200, fails).catch(() => undefined);
    expect([remembered.last("a"), remembered.get("a", 200)]).toEqual(["A", undefined]);
  });

  it("limits the results, and never replaces them by negative ones, which clients can cause", async () => {
    const remembered = new Remembered<string>({ maxEntries: 2 });
    for (const key of ["a", "b"]) await remembered.lookUp(key, 1, find(result(key)));
    for (const key of ["x", "y", "z"])
      await remembered.lookUp(key, 1, find({ ...result("none"), isNegative: true }));
    const isRemembered = (key: string) => remembered.get(key, 1) !== undefined;
    expect(["a", "b", "x", "y", "z"].filter(isRemembered)).toEqual(["a", "b", "y", "z"]);
    await remembered.lookUp("c", 1, find(result("c")));
    expect(["a", "b", "c"].filter(isRemembered)).toHaveLength(2);
  });

  it("replaces a result of the same key by a negative one, and the reverse", async () => {
    const remembered = new Remembered<string>({ maxEntries: 2 });
    await remembered.lookUp("a", 1, find(result("A")));
    await remembered.lookUp("a", 2, find({ ...result("none"), isNegative: true }));
    expect([remembered.get("a", 3), remembered.last("a")]).toEqual(["none", undefined]);
    await remembered.lookUp("a", 4, find(result("A", 5)));
    expect([remembered.get("a", 4), remembered.get("a", 5)]).toEqual(["A", undefined]);
  });

  it("limits the memory of the results", async () => {
    const remembered = new Remembered<string>({ maxEntries: 10, maxBytes: 100 });
    for (const key of ["a", "b", "c"]) await remembered.lookUp(key, 1, find({ ...result(key), bytes: 50 }));
    expect(["a", "b", "c"].filter((key) => remembered.get(key, 1) !== undefined)).toHaveLength(2);
  });

  it.each([
    ["forgets a result after its end", 0, undefined],
    ["keeps a result after its end for as long as `keepMs`", 101, "A"],
  ])("%s when others are remembered", async (_, keepMs, last) => {
    const remembered = new Remembered<string>({ maxEntries: 10, keepMs });
    await remembered.lookUp("a", 1, find(result("A")));
    await remembered.lookUp("b", 200, find(result("B", 300)));
    expect(remembered.last("a")).toBe(last);
  });
});
