import { describe, expect, it, vi } from "vitest";
import { notify } from "../../../src/core/runtime/notify.ts";

// `test/security/fail-closed` has more that a hook may do. An unhandled rejection fails a test run.

describe("notify", () => {
  it("adds one reaction to a promise that a hook returns for every event", () => {
    const promise = new Promise(() => undefined);
    const then = vi.spyOn(promise, "then");
    const caught = vi.spyOn(promise, "catch");
    for (let event = 0; event < 100_000; event += 1) notify(() => promise);
    expect([then.mock.calls.length, caught.mock.calls.length]).toEqual([1, 1]);
  });

  it("warns once about a hook that fails, without its values or its error", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const hooks: readonly ((value: string) => unknown)[] = [
      (value) => {
        throw new Error(value);
      },
      (value) => Promise.reject(new Error(value)),
    ];
    for (const hook of hooks) {
      warn.mockClear();
      for (let turn = 0; turn < 3; turn += 1) notify(hook, "canary");
      await new Promise(setImmediate);
      expect(warn.mock.calls).toHaveLength(1);
      expect(JSON.stringify(warn.mock.calls)).not.toContain("canary");
    }
  });
});
