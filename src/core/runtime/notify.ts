const failedHooks = new WeakSet();
/** The promises of hooks that are already observed. A hook may return the same promise for every event. */
const observed = new WeakSet();

/**
 * Calls a hook and ignores its result: an exception or rejection must not change the outcome of a request.
 * The first failure of a hook becomes a process warning, so that a broken log doesn't go unnoticed.
 */
export function notify<Values extends unknown[]>(
  hook: (...values: Values) => unknown,
  ...values: Values
): void {
  try {
    const result = hook(...values);
    if (typeof result !== "object" || result === null || observed.has(result)) return;
    observed.add(result);
    // Also handles promises of another realm or library: an unhandled rejection would end the process.
    Promise.resolve(result).catch(() => warnOnce(hook));
  } catch {
    warnOnce(hook);
  }
}

function warnOnce(hook: object): void {
  if (failedHooks.has(hook)) return;
  failedHooks.add(hook);
  process.emitWarning("A hook failed. Its event was dropped.", "ScopegateWarning");
}
