/** What everyone who uses a store sees of it, and what happens while it fails, wholly or for some keys. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Breaker, breakerOf } from "../../../src/core/runtime/breaker.ts";
import { createMemoryStore, ShareError } from "../../../src/core/runtime/memory-store.ts";
import type { Store } from "../../../src/core/runtime/store.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** A store whose keys fail or hang by their first letter, and the keys of each call of `get`. */
function createStore() {
  const memory = createMemoryStore(1_000, () => 0);
  const failing = new Set<string>();
  const hanging = new Set<string>();
  const calls: (readonly string[])[] = [];
  const store: Store = {
    ...memory,
    async get(keys) {
      calls.push(keys);
      while (keys.some((key) => hanging.has(key[0] ?? "") || hanging.has("*")))
        await new Promise((resolve) => void setTimeout(resolve, 10));
      if (failing.has("*")) throw new Error("out of reach");
      const values = await memory.get(keys);
      return keys.map((key, index) => (failing.has(key[0] ?? "") ? new Error("dead node") : values[index]));
    },
  };
  return { store, memory, failing, hanging, calls, breaker: new Breaker(store) };
}

const valuesOf = async (breaker: Breaker, ...keys: readonly string[]) =>
  (await breaker.get(keys)).map((answer) => (answer instanceof Error ? answer.message : answer.value));

describe("breakerOf", () => {
  it("returns one breaker for each store object", () => {
    const { store } = createStore();
    expect(breakerOf(store)).toBe(breakerOf(store));
    expect(breakerOf({ ...store })).not.toBe(breakerOf(store));
  });
});

describe("a breaker", () => {
  it("asks all questions of one turn of the event loop together, and for each key once", async () => {
    const { breaker, memory, calls } = createStore();
    await memory.set("a", "1");
    expect(await Promise.all([breaker.get(["a", "b"]), breaker.get(["b", "a"])])).toMatchObject([
      [{ value: "1" }, { value: undefined }],
      [{ value: undefined }, { value: "1" }],
    ]);
    expect(calls).toEqual([["a", "b"]]);
  });

  it("answers at once while the store fails, asks in the background, and recovers", async () => {
    const { breaker, failing, calls } = createStore();
    failing.add("*");
    expect(await valuesOf(breaker, "a")).toEqual(["out of reach"]);
    calls.length = 0;
    expect(await valuesOf(breaker, "a", "b")).toEqual(["out of reach", "out of reach"]);
    await expect(breaker.set("c", "1")).rejects.toThrow("out of reach");
    await expect(breaker.now()).resolves.toBeUndefined();
    expect(calls).toEqual([]);
    expect(breaker.fault).toMatchObject({ message: "out of reach" });
    failing.clear();
    await pass(250);
    await turn();
    expect(breaker.fault).toBeUndefined();
    expect(await valuesOf(breaker, "a", "b")).toEqual([undefined, undefined]);
  });

  it("gives up on a store that hangs, and lets one attempt wait for ten seconds", async () => {
    const { breaker, hanging, calls } = createStore();
    hanging.add("*");
    const asking = valuesOf(breaker, "a");
    await turn();
    await pass(2_500);
    expect(await asking).toEqual(["The store timed out after 2500 ms."]);
    calls.length = 0;
    for (let second = 0; second < 9; second += 1) {
      expect((await breaker.get(["a", `b${second}`])).every((answer) => answer instanceof Error)).toBe(true);
      await pass(1_000);
    }
    expect(calls).toEqual([[expect.stringMatching(/^probe:/)]]);
    hanging.clear();
    await pass(1_000);
    expect(breaker.fault).toBeUndefined();
  });

  it("settles each key: those of a node that works are answered, and at once", async () => {
    const { breaker, memory, failing, hanging } = createStore();
    await memory.set("a1", "1");
    failing.add("b");
    expect(await valuesOf(breaker, "a1", "b1")).toEqual(["1", "dead node"]);
    expect(breaker.fault).toMatchObject({ message: "dead node" });
    failing.clear();
    hanging.add("b");
    // A new key of the node that hangs doesn't delay others.
    const asking = valuesOf(breaker, "b2");
    expect(await valuesOf(breaker, "a1", "b1")).toEqual(["1", "dead node"]);
    await pass(2_500);
    expect(await asking).toEqual(["The store timed out after 2500 ms."]);
    expect(await valuesOf(breaker, "a1", "b2")).toEqual(["1", "The store timed out after 2500 ms."]);
    expect(await valuesOf(breaker, "a2")).toEqual([undefined]);
  });

  it("finds out that other nodes work, if the only callers ask a dead one", async () => {
    const { breaker, failing } = createStore();
    failing.add("b");
    expect(await valuesOf(breaker, "b1")).toEqual(["dead node"]);
    await pass(250);
    await turn();
    expect(await valuesOf(breaker, "a1", "b1")).toEqual([undefined, "dead node"]);
  });

  it("still answers for nodes that work, when only attempts ask, which fail", async () => {
    const { breaker, failing } = createStore();
    failing.add("b");
    await valuesOf(breaker, "a1", "b1");
    failing.add("p");
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await pass(250);
      await turn();
      expect(await valuesOf(breaker, "a1", "b1")).toEqual([undefined, "dead node"]);
    }
  });

  it("asks for all keys again after the oldest ones that failed have answered", async () => {
    const { breaker, failing, calls } = createStore();
    failing.add("b");
    const keys = Array.from({ length: 40 }, (_, index) => `b${index}`);
    await valuesOf(breaker, "a", ...keys);
    expect(breaker.fault).toBeDefined();
    expect((await valuesOf(breaker, ...keys)).every((value) => value === "dead node")).toBe(true);
    calls.length = 0;
    await pass(250);
    await turn();
    expect(calls.flat()).toHaveLength(11);
    failing.clear();
    await pass(250);
    await turn();
    expect(breaker.fault).toBeUndefined();
    expect(await valuesOf(breaker, ...keys)).toEqual(keys.map(() => undefined));
  });

  it("stops asking a minute after the last question, and starts again with the next question", async () => {
    const { breaker, failing, calls } = createStore();
    failing.add("*");
    await valuesOf(breaker, "a");
    await pass(61_000);
    const { length } = calls;
    expect(length).toBeGreaterThan(1);
    await pass(60_000);
    expect(calls).toHaveLength(length);
    expect(vi.getTimerCount()).toBe(0);
    await valuesOf(breaker, "a");
    await pass(1_000);
    expect(calls.length).toBeGreaterThan(length);
  });

  it("calls watchers with each failed attempt and with the recovery, until they stop", async () => {
    const { breaker, failing } = createStore();
    const faults: unknown[] = [];
    const stop = breaker.watch((fault) => faults.push(fault?.message));
    await valuesOf(breaker, "a");
    expect(faults).toEqual([]);
    failing.add("*");
    await valuesOf(breaker, "a");
    await pass(600);
    failing.clear();
    await pass(1_000);
    expect(faults[0]).toBe("out of reach");
    expect(faults.at(-1)).toBeUndefined();
    const { length } = faults;
    stop();
    failing.add("*");
    await valuesOf(breaker, "a");
    expect(faults).toHaveLength(length);
  });

  it.each<readonly [string, Store["set"]]>([
    ["nothing", () => Promise.resolve(undefined as never)],
    ["OK", () => Promise.resolve("OK" as never)],
    ["false without `ifAbsent`", () => Promise.resolve(false)],
    ["nothing, and no promise", () => undefined as never],
  ])("rejects a `set` that resolves to %s", async (_, set) => {
    const { store } = createStore();
    const breaker = new Breaker({ ...store, set });
    await expect(breaker.set("a", "1")).rejects.toThrow("must return `true`");
    expect(breaker.fault).toBeInstanceOf(TypeError);
  });

  it("reports a store that can't be written until it can, and keeps reading it", async () => {
    const { store, memory } = createStore();
    const set = vi.fn<Store["set"]>().mockRejectedValueOnce(new Error("OOM"));
    set.mockImplementation((...values) => memory.set(...values));
    const breaker = new Breaker({ ...store, set });
    await expect(breaker.set("a", "1")).rejects.toThrow("OOM");
    expect(breaker.fault).toMatchObject({ message: "OOM" });
    expect(await valuesOf(breaker, "a")).toEqual([undefined]);
    await breaker.set("a", "1");
    expect(breaker.fault).toBeUndefined();
  });

  it("doesn't report a client that has used up its share", async () => {
    const { store } = createStore();
    const breaker = new Breaker({ ...store, set: () => Promise.reject(new ShareError("share")) });
    await expect(breaker.rememberOnce("a", 1_000, "client")).rejects.toThrow("share");
    expect(breaker.fault).toBeUndefined();
  });

  it("notices with a write that the store hangs, so that the next one doesn't wait", async () => {
    const { store, hanging } = createStore();
    hanging.add("*");
    const breaker = new Breaker({ ...store, set: () => new Promise(() => undefined) });
    const first = breaker.set("a", "1").catch((error: unknown) => String(error));
    await pass(5_000);
    expect(await first).toContain("timed out");
    await turn();
    await pass(2_500);
    await expect(breaker.set("b", "1")).rejects.toThrow("timed out");
  });

  it.each([
    ["no array", "1"],
    ["too few values", []],
    ["a value that a client has parsed", [{ until: 1 }]],
    ["null", [null]],
  ])("takes %s for a failure", async (_, values) => {
    const { store } = createStore();
    const breaker = new Breaker({ ...store, get: () => Promise.resolve(values as never) });
    const [answer] = await breaker.get(["a"]);
    expect(answer).toMatchObject({
      message: expect.stringContaining("Does its client parse JSON?") as string,
    });
    await expect(breaker.read("a")).rejects.toThrow(TypeError);
  });

  it("takes anything that is thrown for a failure, and reports an error", async () => {
    const { store } = createStore();
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a store of a user may do it
    const breaker = new Breaker({ ...store, get: () => Promise.reject("down") });
    expect(await breaker.get(["a"])).toEqual([new Error("The store failed.", { cause: "down" })]);
  });

  it("forgets the oldest of too many keys that fail", async () => {
    const { breaker, failing, calls } = createStore();
    failing.add("b");
    await valuesOf(breaker, "a", ...Array.from({ length: 10_001 }, (_, index) => `b${index}`));
    calls.length = 0;
    await valuesOf(breaker, "b0", "b1");
    expect(calls).toEqual([["b0"]]);
  });

  it("doesn't ask for the time of a store that fails", async () => {
    const { store, failing } = createStore();
    failing.add("*");
    const now = vi.fn(() => Promise.resolve(5));
    const breaker = new Breaker({ ...store, now });
    expect(await breaker.now()).toBe(5);
    await valuesOf(breaker, "a");
    await expect(breaker.now()).rejects.toThrow("out of reach");
    expect(now).toHaveBeenCalledOnce();
  });

  it.each([Number.NaN, "5", undefined])("rejects %j as the time of a store", async (time) => {
    const { store } = createStore();
    const breaker = new Breaker({ ...store, now: () => Promise.resolve(time as number) });
    await expect(breaker.now()).rejects.toThrow("milliseconds since the epoch");
  });
});

describe("prove", () => {
  const proving = (change: Partial<Store>, isReadOnly = false) => {
    const { store, memory } = createStore();
    const calls = vi.spyOn(memory, "set");
    const breaker = new Breaker({ ...store, ...change });
    return { proof: breaker.prove(isReadOnly), memory, calls };
  };

  it("resolves for a store that keeps its contract, and leaves nothing in it", async () => {
    const keys: string[] = [];
    const memory = createMemoryStore(100, () => 0);
    const set: Store["set"] = (key, ...rest) => {
      keys.push(key);
      return memory.set(key, ...rest);
    };
    await new Breaker({ ...memory, set }).prove();
    expect(keys.length).toBeGreaterThan(1);
    expect(await memory.get(keys)).toEqual(keys.map(() => undefined));
  });

  it("only reads with `readOnly`", async () => {
    const set = vi.fn();
    await proving({ set, delete: set }, true).proof;
    expect(set).not.toHaveBeenCalled();
  });

  it.each<readonly [string, Partial<Store>]>([
    ["must return `true`", { set: () => Promise.resolve(undefined as never) }],
    ["than the one that it has confirmed", { set: () => Promise.resolve(true) }],
    ["for a key that was never set", { get: (keys) => Promise.resolve(keys.map(() => "1")) }],
    ["NOPERM", { set: () => Promise.reject(new Error("NOPERM")) }],
    ["READONLY", { delete: () => Promise.reject(new Error("READONLY")) }],
    ["for a key that was deleted", { delete: () => Promise.resolve() }],
    ["milliseconds since", { now: () => Promise.resolve("now" as never) }],
  ])("rejects with what differs: %s", async (message, change) => {
    await expect(proving(change).proof).rejects.toThrow(message);
  });

  it("rejects for a store that ignores `ifAbsent`, or changes the value nevertheless", async () => {
    const memory = createMemoryStore(100, () => 0);
    const always: Store["set"] = (key, value) => memory.set(key, value);
    await expect(proving({ ...memory, set: always }).proof).rejects.toThrow("ignores `ifAbsent`");
    const lying: Store["set"] = async (key, value, options) => {
      await memory.set(key, value);
      return options?.ifAbsent !== true;
    };
    await expect(proving({ ...memory, set: lying }).proof).rejects.toThrow("after a `set` with `ifAbsent`");
  });

  it("rejects for a client that parses JSON", async () => {
    const memory = createMemoryStore(100, () => 0);
    const get: Store["get"] = async (keys) =>
      (await memory.get(keys)).map((value) => value && (JSON.parse(value as string) as string));
    await expect(proving({ ...memory, get }).proof).rejects.toThrow("Does its client parse JSON?");
  });
});
