/** A value, or a promise of it. */
export type Pending<T> = T | Promise<T>;

/** By the shape of a promise: a program may have replaced the global `Promise`. */
export const isPending = <T>(value: Pending<T>): value is Promise<T> =>
  typeof value === "object" && value !== null && "then" in value;

/** Continues at once with a value that is known: a promise would cost as much as the check of a remembered token. */
export const chain = <T, Context, Result>(
  value: Pending<T>,
  next: (value: T, context: Context) => Pending<Result>,
  context: Context,
): Pending<Result> => (isPending(value) ? value.then((known) => next(known, context)) : next(value, context));
