/** Continues with a value that may be a promise. */
import { isPending, type Pending } from "./pending.ts";

/** Continues synchronously, unless the value is a promise: each promise costs microseconds. */
export const andThen = <T, Result>(
  value: Pending<T>,
  next: (value: T) => Pending<Result>,
): Pending<Result> => (isPending(value) ? value.then(next) : next(value));
