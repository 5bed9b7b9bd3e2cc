import { describe, expect, it, vi } from "vitest";
import { createMemoryStore } from "../../../src/core/runtime/memory-store.ts";
import type { OwnedOptions } from "../../../src/core/runtime/store.ts";

/** A store, and a function that adds a key to it, or returns why it can't. */
const storeOf = (maxEntries: number, now: () => number = () => 0) => {
  const store = createMemoryStore(maxEntries, now);
  const add = (key: string, options: OwnedOptions): Promise<boolean | string> =>
    store.set(key, "1", options).catch((error: unknown) => (error as Error).message);
  return { store, add };
};

describe("createMemoryStore", () => {
  it("gives an owner a tenth of the store, and the rest to others", async () => {
    let now = 0;
    const { store, add } = storeOf(30, () => now);
    const addFor = (key: string, owner?: string) => add(key, { ttlMs: 5_000, ifAbsent: true, owner });
    for (const key of ["a1", "a2", "a3"]) expect(await addFor(key, "a")).toBe(true);
    expect(await addFor("a4", "a")).toMatch(
      /^One client has a tenth of the store \(3 keys\)\. Use memoryStore/,
    );
    expect(await addFor("a1", "a")).toBe(false);
    for (let index = 0; index < 3; index += 1) expect(await addFor(`b${index}`, "b")).toBe(true);
    for (let index = 0; index < 24; index += 1) expect(await addFor(`other ${index}`)).toBe(true);
    expect(await addFor("c1", "c")).toMatch(/^The store is full \(30 keys\)\./);
    await store.delete("a1");
    expect(await addFor("a4", "a")).toBe(true);
    expect(await addFor("a5", "a")).toContain("full");
    now = 5_000;
    for (const key of ["a5", "a6", "a7"]) expect(await addFor(key, "a")).toBe(true);
  });

  it("gives each owner at least one key, and counts a key that is replaced once", async () => {
    const { store, add } = storeOf(5);
    const ttlMs = 1_000;
    for (let turn = 0; turn < 5; turn += 1) expect(await store.set("a1", `${turn}`, { ttlMs })).toBe(true);
    for (let turn = 0; turn < 5; turn += 1) expect(await add("a1", { ttlMs, owner: "a" })).toBe(true);
    expect(await add("a2", { ttlMs, owner: "a" })).toContain("tenth");
    expect(await add("b1", { ttlMs, owner: "b" })).toBe(true);
  });

  it.each([
    ["a year of pause", 31_536_000],
    ["a clock that was wrong by decades", 1_800_000_000],
    ["an hour", 3_600],
    ["a second", 1],
  ])("has room again after %s", async (_name, seconds) => {
    let now = 0;
    const { store, add } = storeOf(100, () => now);
    for (let index = 0; index < 100; index += 1)
      await add(`first ${index}`, { ttlMs: Math.min(1 + 37 * index, seconds) * 1_000 });
    now = seconds * 1_000;
    for (let index = 0; index < 100; index += 1) expect(await add(`second ${index}`, {})).toBe(true);
    expect(await store.get(["first 99", "second 99"])).toEqual([undefined, "1"]);
  });

  it("has room again after the clock was set back, when what was added then has ended", async () => {
    let now = 100_000;
    const { add } = storeOf(2, () => now);
    await add("a", { ttlMs: 1_000 });
    now = 50_000;
    await add("b", { ttlMs: 1_000 });
    expect(await add("c", {})).toContain("full");
    now = 51_000;
    expect(await add("c", {})).toBe(true);
    expect(await add("d", {})).toContain("full");
    now = 101_000;
    expect(await add("d", {})).toBe(true);
  });

  it("keeps no empty buckets of values that are deleted or replaced before their end", async () => {
    const setInMap = vi.spyOn(Map.prototype, "set");
    const { store } = storeOf(10);
    for (let second = 1; second <= 100; second += 1) {
      await store.set("replaced", "1", { ttlMs: second * 1_000 });
      await store.set("deleted", "1", { ttlMs: second * 1_000 });
      await store.delete("deleted");
    }
    const maps = new Set(setInMap.mock.contexts as readonly Map<unknown, unknown>[]);
    setInMap.mockRestore();
    expect(maps.size).toBeGreaterThan(0);
    expect([...maps].map(({ size }) => size).filter((size) => size > 1)).toEqual([]);
  });

  it("rejects a time to live that isn't a number, instead of dropping the value", () => {
    const { store } = storeOf(10);
    expect(() => store.set("key", "1", { ttlMs: Number.NaN })).toThrow("`ttlMs` must be");
  });

  it("deletes at most 1,000 ended values in one call, and the others in later calls", async () => {
    let now = 0;
    const { add } = storeOf(3_000, () => now);
    const ttlMs = (index: number) => (index % 7) * 1_000 + 1_000;
    for (let index = 0; index < 3_000; index += 1) await add(`${index}`, { ttlMs: ttlMs(index) });
    now = 8_000;
    const removed = vi.spyOn(Map.prototype, "delete");
    for (const key of ["a", "b", "c", "d"]) {
      removed.mockClear();
      expect(await add(key, {})).toBe(true);
      const isLast = key === "d";
      // Each value is deleted from a map by its key, which is a string.
      const keys = removed.mock.calls.filter(([name]) => typeof name === "string");
      expect(keys).toHaveLength(isLast ? 0 : 1_000);
    }
    removed.mockRestore();
  });

  it("keeps what has not ended, and has room for the rest, whatever happens in which order", async () => {
    let seed = 46;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    let now = 1_000_000;
    const { store } = storeOf(40, () => now);
    const model = new Map<string, { readonly value: string; readonly end: number }>();
    const lives = (entry?: { readonly end: number }) => entry !== undefined && now < entry.end;
    const below = (limit: number) => Math.floor(random() * limit);
    for (let step = 0; step < 30_000; step += 1) {
      const key = `key ${below(80)}`;
      const action = below(10);
      if (action < 6) {
        const ttlMs = action === 0 ? Infinity : below(20_000) - 200;
        const end = now + ttlMs;
        const ifAbsent = random() < 0.5;
        const result = await store
          .set(key, `${step}`, { ifAbsent, ...(action > 0 && { ttlMs }) })
          .catch(() => "full" as const);
        if (ifAbsent && lives(model.get(key))) expect(result).toBe(false);
        else if (result === "full") {
          // A key takes up its place until the second in which it ends is over.
          const taken = [...model.values()].filter((entry) => Math.ceil(entry.end / 1_000) * 1_000 > now);
          expect(taken.length).toBeGreaterThanOrEqual(40);
        } else {
          expect(result).toBe(true);
          model.set(key, { value: `${step}`, end });
        }
      } else if (action < 8) {
        await store.delete(key);
        model.delete(key);
      } else now += [1, 300, 1_000, 9_000][below(4)] ?? 0;
      const expected = model.get(key);
      expect(await store.get([key])).toEqual([lives(expected) ? expected?.value : undefined]);
      const living = [...model].filter(([, entry]) => lives(entry));
      expect(living.length).toBeLessThanOrEqual(40);
    }
  });
});
