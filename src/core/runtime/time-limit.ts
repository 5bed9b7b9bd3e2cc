const DEFAULT_LIMIT_MS = 5_000;

/** What to do when a promise settles. */
interface Waiter {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** All waiters of a promise share one reaction, because a promise keeps every reaction until it settles. */
const waitersOf = new WeakMap<object, Set<Waiter>>();

/** Calls a waiter when a promise settles, unless the returned function is called first. */
function addWaiter(promise: object, waiter: Waiter): () => void {
  const waiters = waitersOf.get(promise) ?? observePromise(promise);
  waiters.add(waiter);
  return () => waiters.delete(waiter);
}

function observePromise(promise: object): Set<Waiter> {
  const waiters = new Set<Waiter>();
  waitersOf.set(promise, waiters);
  const callWaiters = (call: (waiter: Waiter) => void): void => {
    waitersOf.delete(promise);
    for (const waiter of waiters) call(waiter);
  };
  // Also works for promises of another realm or library.
  Promise.resolve(promise).then(
    (value: unknown) => callWaiters(({ resolve }) => resolve(value)),
    (reason: unknown) => callWaiters(({ reject }) => reject(reason)),
  );
  return waiters;
}

/**
 * Waits for an external result, for example of a key source or a revocation check. Rejects if it takes too
 * long, so that no request hangs. The work itself continues, but its result is ignored, and it keeps no
 * reference to the request.
 */
export async function withinLimit<T>(
  result: T | PromiseLike<T>,
  subject: string,
  limitMs = DEFAULT_LIMIT_MS,
): Promise<T> {
  if ((typeof result !== "object" && typeof result !== "function") || result === null) return result;
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      const forget = addWaiter(result, { resolve: resolve as Waiter["resolve"], reject });
      timer = setTimeout(() => {
        forget();
        reject(new Error(`${subject} timed out after ${limitMs} ms.`));
        // Unreferenced, so that the timer doesn't keep the process alive.
      }, limitMs).unref();
    });
  } finally {
    clearTimeout(timer);
  }
}
