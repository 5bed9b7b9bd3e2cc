const DEFAULT_LIMIT_MS = 5_000;

/** What is called with a promise when it has settled, such as `resolve` of another promise. */
type Waiter = (settled: Promise<unknown>) => void;

/** All waiters of a promise share one reaction, because a promise keeps every reaction until it settles. */
const waitersOf = new WeakMap<object, Set<Waiter>>();

function findWaiters(promise: object): Set<Waiter> {
  const earlierWaiters = waitersOf.get(promise);
  if (earlierWaiters) return earlierWaiters;
  const waiters = new Set<Waiter>();
  waitersOf.set(promise, waiters);
  // Also works for promises of another realm or library.
  const settling = Promise.resolve<unknown>(promise);
  const callWaiters = (): void => {
    waitersOf.delete(promise);
    for (const waiter of waiters) waiter(settling);
  };
  settling.then(callWaiters, callWaiters);
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
      const waiters = findWaiters(result).add(resolve as Waiter);
      timer = setTimeout(() => {
        waiters.delete(resolve as Waiter);
        reject(new Error(`${subject} timed out after ${limitMs} ms.`));
        // Unreferenced, so that the timer doesn't keep the process alive.
      }, limitMs).unref();
    });
  } finally {
    clearTimeout(timer);
  }
}
