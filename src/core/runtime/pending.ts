/** A value, or a promise of it. */
export type Pending<T> = T | Promise<T>;

/** Recognizes a promise by its shape: a program may have replaced the global `Promise`. */
export const isPending = <T>(value: Pending<T>): value is Promise<T> =>
  typeof value === "object" && value !== null && "then" in value;

/** Continues at once with a known value: a promise would cost as much as the check of a remembered token. */
export const chain = <T, Context, Result>(
  value: Pending<T>,
  next: (value: T, context: Context) => Pending<Result>,
  context: Context,
): Pending<Result> => (isPending(value) ? value.then((known) => next(known, context)) : next(value, context));

/**
 * Runs a check in front of a handler: calls `next()` if it returns `undefined`, `refuse` with any other
 * value, and `next(error)` if it fails. Returns what they return.
 */
export function settle<Refusal extends object>(
  check: () => Pending<Refusal | undefined>,
  refuse: (refusal: Refusal) => unknown,
  next: (fault?: Error) => unknown,
): unknown {
  let refusal: Pending<Refusal | undefined>;
  try {
    refusal = check();
  } catch (fault) {
    return next(toError(fault));
  }
  if (isPending(refusal))
    return refusal
      .then((known) => (known ? refuse(known) : next()))
      .catch((fault: unknown) => next(toError(fault)));
  return refusal ? refuse(refusal) : next();
}

/** Frameworks ignore a thrown value that is not an error, and continue. */
const toError = (fault: unknown): Error =>
  fault instanceof Error ? fault : new Error("The request could not be decided.", { cause: fault });

/** Handles a promise that nobody waits for: an unhandled rejection would end the process. */
export function ignoreRejection(value: unknown): void {
  Promise.resolve(value).catch(() => undefined);
}
