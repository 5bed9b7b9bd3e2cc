/** Values that may be used once. What each store does is stated in store.test.ts. */
import { describe, expect, it, vi } from "vitest";
import { createReplays } from "scopegate/replay";
import { memoryStore, type Store } from "scopegate/store";

const NOW = 1_700_000_000_000;
const LATER = new Date(NOW + 60_000);
const now = () => NOW;
const create = (store: Store = memoryStore({ now })) => createReplays(store, { now });

describe("createReplays", () => {
  it("returns true once for each id", async () => {
    const replays = create();
    expect(await replays.remember("a", LATER)).toBe(true);
    expect(await replays.remember("a", LATER)).toBe(false);
    expect(await replays.remember("b", LATER)).toBe(true);
  });

  it("shares ids with others that have the same store, and returns true to exactly one of them", async () => {
    const store = memoryStore({ now });
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => createReplays(store, { now }).remember("a", LATER)),
    );
    expect(answers.filter(Boolean)).toHaveLength(1);
  });

  it("stores an id, which a client chooses, in a short key until it ends", async () => {
    const set = vi.fn(() => Promise.resolve(true));
    await create({ ...memoryStore(), set }).remember("x".repeat(10_000), LATER);
    const key = expect.stringMatching(/^replay:[\w-]{43}$/) as string;
    expect(set).toHaveBeenCalledExactlyOnceWith(key, "1", { ttlMs: 60_000, ifAbsent: true });
  });

  it("returns false for a time that has passed", async () => {
    expect(await create().remember("a", new Date(NOW))).toBe(false);
    expect(await create().remember("a", new Date(0))).toBe(false);
  });

  it.each<readonly [unknown, unknown]>([
    ["", LATER],
    [undefined, LATER],
    ["id", new Date("never")],
    ["id", 5],
  ])("throws for the id %j until %s", async (id, until) => {
    await expect(create().remember(id as string, until as Date)).rejects.toThrow(TypeError);
  });

  it("rejects if the store fails, does not respond in time, or returns anything but a boolean", async () => {
    const answering = (set: Store["set"]) => create({ ...memoryStore(), set }).remember("a", LATER);
    await expect(answering(() => Promise.reject(new Error("full")))).rejects.toThrow("full");
    await expect(answering(() => Promise.resolve("OK" as never))).rejects.toThrow("must return `true`");
    vi.useFakeTimers();
    const hanging = answering(() => new Promise(() => undefined));
    const rejected = expect(hanging).rejects.toThrow("timed out");
    await vi.advanceTimersByTimeAsync(5_000);
    await rejected;
    vi.useRealTimers();
  });

  it("refuses unknown options", () => {
    expect(() => createReplays(memoryStore(), { maxEntries: 5 } as never)).toThrow("maxEntries");
  });
});
