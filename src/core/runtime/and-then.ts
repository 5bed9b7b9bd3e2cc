/** Continues with a value that may be a promise. */
import { isPending, type Pending } from "./pending.ts";

/** Continues synchronously, unless the value is a promise: each promise costs microseconds. */
export const andThen = <T, Result>(
  value: Pending<T>,
  next: (value: T) => Pending<Result>,
): Pending<Result> => (isPending(value) ? value.then(next) : next(value));

/** Continues with all values: synchronously, unless one of them is a promise. */
export function andThenAll<T, Result>(
  values: readonly Pending<T>[],
  next: (values: readonly T[]) => Pending<Result>,
): Pending<Result> {
  const awaited: T[] = [];
  for (const value of values) {
    if (isPending(value)) return Promise.all(values.map((each) => Promise.resolve(each))).then(next);
    awaited.push(value);
  }
  return next(awaited);
}
