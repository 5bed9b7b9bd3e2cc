import { afterEach, describe, expect, it, vi } from "vitest";
import { notify } from "../../../src/core/runtime/notify.ts";

/** The rejections that are still unhandled after a turn of the event loop. */
async function unhandledRejections(run: () => void): Promise<readonly unknown[]> {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown) => void unhandled.push(reason);
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", listen);
  try {
    run();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const other of others) process.on("unhandledRejection", other);
  }
  return unhandled;
}

describe("notify", () => {
  afterEach(() => vi.restoreAllMocks());

  it("calls a hook once with all values", () => {
    const hook = vi.fn();
    notify(hook, "a", 5);
    expect(hook.mock.calls).toEqual([["a", 5]]);
  });

  it("ignores a rejection of a hook", async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const reject = () => Promise.reject(new Error("The log is away."));
    expect(await unhandledRejections(() => void reject())).toHaveLength(1);
    expect(await unhandledRejections(() => notify(reject))).toEqual([]);
  });

  it("adds one reaction to a promise that a hook returns for every event", async () => {
    const promise = new Promise(() => undefined);
    const then = vi.spyOn(promise, "then");
    const caught = vi.spyOn(promise, "catch");
    for (let event = 0; event < 100_000; event += 1) notify(() => promise);
    expect([then.mock.calls.length, caught.mock.calls.length]).toEqual([1, 1]);
    const failed = Promise.reject(new Error("The log is away."));
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    expect(
      await unhandledRejections(() => {
        for (let event = 0; event < 3; event += 1) notify(() => failed);
      }),
    ).toEqual([]);
  });

  it("warns once about a hook that fails, without its values or its error", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const hooks: readonly ((told: string) => unknown)[] = [
      (told) => {
        throw new Error(told);
      },
      (told) => Promise.reject(new Error(told)),
    ];
    for (const hook of hooks) {
      warn.mockClear();
      for (let turn = 0; turn < 3; turn += 1) notify(hook, "canary");
      await new Promise(setImmediate);
      expect(warn.mock.calls).toHaveLength(1);
      expect(JSON.stringify(warn.mock.calls)).not.toContain("canary");
    }
  });

  it("does not wait for a hook", () => {
    let isDone = false;
    notify(async () => {
      await new Promise(setImmediate);
      isDone = true;
    });
    expect(isDone).toBe(false);
  });
});
