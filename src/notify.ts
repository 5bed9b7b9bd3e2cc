/** Calls a hook that is only told of something: what it throws or rejects with must not change what happened. */
export function notify<Values extends unknown[]>(
  hook: (...values: Values) => unknown,
  ...values: Values
): void {
  try {
    const told = hook(...values);
    if (told instanceof Promise) told.catch(() => undefined);
  } catch {
    // The hook's own fault; it has no say in a decision.
  }
}
