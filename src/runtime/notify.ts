const failed = new WeakSet();

/**
 * Calls a hook that is only told of something: what it throws or rejects with must not change what happened. Its first
 * failure becomes a process warning, because a log that fails in silence is no log.
 */
export function notify<Values extends unknown[]>(
  hook: (...values: Values) => unknown,
  ...values: Values
): void {
  try {
    const told = hook(...values);
    // Whatever realm a promise is of: one that nobody looks at would end the process.
    if (typeof told === "object") Promise.resolve(told).catch(() => warnOnce(hook));
  } catch {
    warnOnce(hook);
  }
}

function warnOnce(hook: object): void {
  if (failed.has(hook)) return;
  failed.add(hook);
  process.emitWarning("A hook failed; what it was told is lost.", "ScopegateWarning");
}
