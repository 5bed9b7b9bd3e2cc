/** Counts the fake timers of the code under test. Servers that other test files left behind set timers in the same process. */
import { AsyncLocalStorage } from "node:async_hooks";
import { vi } from "vitest";

export interface OwnTimers {
  /** Calls the code under test. Its timers count, and those of everything that it calls or continues later. */
  readonly run: <T>(code: () => T) => T;
  /** The number of these timers that are pending. */
  readonly count: () => number;
}

/** Fakes timers as `vi.useFakeTimers` does. `vi.getTimerCount` also counts those of work that began before the test. */
export function useOwnTimers(options: Parameters<typeof vi.useFakeTimers>[0]): OwnTimers {
  vi.useFakeTimers(options);
  const context = new AsyncLocalStorage<true>();
  const pending = new Set<unknown>();
  const fake = { set: globalThis.setTimeout, clear: globalThis.clearTimeout };
  const setTimeout = (callback: () => void, ms?: number) => {
    // It runs in the context of the code that set it, not of the test that advances the clock.
    const run = AsyncLocalStorage.bind(() => {
      pending.delete(timer);
      callback();
    });
    const timer = fake.set(run, ms);
    if (context.getStore()) pending.add(timer);
    return timer;
  };
  const clearTimeout = (timer: NodeJS.Timeout | undefined) => {
    pending.delete(timer);
    fake.clear(timer);
  };
  // The properties of the fakes say how `vi.useRealTimers` restores the real functions.
  Object.assign(globalThis, {
    setTimeout: Object.assign(setTimeout, fake.set),
    clearTimeout: Object.assign(clearTimeout, fake.clear),
  });
  return { run: (code) => context.run(true, code), count: () => pending.size };
}
