/** Changes of one key by several processes at the same time. */
import { describe, expect, it, vi } from "vitest";
import { Breaker } from "../../../src/core/runtime/breaker.ts";
import { changeKey } from "../../../src/core/runtime/change-key.ts";
import { createMemoryStore } from "../../../src/core/runtime/memory-store.ts";
import type { Store } from "../../../src/core/runtime/store.ts";

/** A store that several processes share: each has a breaker of its own. */
function createProcesses(count: number) {
  const memory = createMemoryStore(1_000, Date.now);
  const later = <Value>(run: () => Promise<Value>) =>
    new Promise<Value>((resolve, reject) => void setImmediate(() => void run().then(resolve, reject)));
  const store: Store = {
    get: (keys) => later(() => memory.get(keys)),
    set: (...values) => later(() => memory.set(...values)),
    delete: (key) => later(() => memory.delete(key)),
  };
  const processes = Array.from({ length: count }, () => new Breaker({ ...store }));
  return { memory, processes, first: new Breaker({ ...store }) };
}

/** Adds a number to a list, unless it is there. */
const adding = (number: number) => (value: string | undefined) => {
  const numbers = JSON.parse(value ?? "[]") as number[];
  if (numbers.includes(number)) return undefined;
  return { value: JSON.stringify([...numbers, number]), options: { ttlMs: 60_000 } };
};

describe("changeKey", () => {
  it.each(["absent", "there"])(
    "loses nothing that 20 processes add at once to a key that is %s",
    async (state) => {
      const { memory, processes } = createProcesses(20);
      if (state === "there") await memory.set("key", "[]");
      const results = await Promise.all(
        processes.map(async (breaker, index) => {
          const value = await changeKey(breaker, "key", adding(index));
          expect(JSON.parse(value ?? "")).toContain(index);
        }),
      );
      const [value] = await memory.get(["key", "lock:key"]);
      expect((JSON.parse(value as string) as number[]).length).toBe(results.length);
      expect(await memory.get(["lock:key"])).toEqual([undefined]);
    },
  );

  it("writes nothing if the value needs no change", async () => {
    const { memory, first } = createProcesses(0);
    await memory.set("key", "[1]");
    const set = vi.spyOn(memory, "set");
    expect(await changeKey(first, "key", adding(1))).toBe("[1]");
    expect(set).not.toHaveBeenCalled();
  });

  it("doesn't overwrite what another process has created since this one has read the absent key", async () => {
    const memory = createMemoryStore(1_000, Date.now);
    let isFirst = true;
    const set: Store["set"] = async (key, ...rest) => {
      // The other process has finished: it won't read the key again.
      if (isFirst) expect(await changeKey(new Breaker({ ...memory }), "key", adding(1))).toBe("[1]");
      isFirst = false;
      return memory.set(key, ...rest);
    };
    expect(await changeKey(new Breaker({ ...memory, set }), "key", adding(2))).toBe("[1,2]");
  });

  it("doesn't overwrite what another process has written before this one had the lock", async () => {
    const memory = createMemoryStore(1_000, Date.now);
    await memory.set("key", "[1]");
    const set: Store["set"] = async (key, ...rest) => {
      if (key === "lock:key") await memory.set("key", "[1,2]");
      return memory.set(key, ...rest);
    };
    expect(await changeKey(new Breaker({ ...memory, set }), "key", adding(3))).toBe("[1,2,3]");
  });

  it("rejects after ten seconds, if another process changes the key all the time", async () => {
    const { memory, first } = createProcesses(0);
    await memory.set("key", "[]");
    await memory.set("lock:key", "1");
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const changing = changeKey(first, "key", adding(1)).catch((error: unknown) => String(error));
    const state = { isDone: false };
    void changing.then(() => (state.isDone = true));
    while (!state.isDone) {
      await new Promise<void>((resolve) => void setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(100);
    }
    vi.useRealTimers();
    expect(await changing).toContain("Try again");
    expect(await memory.get(["key"])).toEqual(["[]"]);
  });
});
