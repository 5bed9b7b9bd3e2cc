import { isPending, type Pending } from "../../core/runtime/pending.ts";

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
