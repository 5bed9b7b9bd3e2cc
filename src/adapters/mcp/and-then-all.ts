import { isPending, type Pending } from "../../core/runtime/pending.ts";

/** Continues with all values: synchronously, unless one of them is a promise. */
export const andThenAll = <T, Result>(
  values: readonly Pending<T>[],
  next: (values: readonly T[]) => Pending<Result>,
): Pending<Result> =>
  values.some(isPending)
    ? Promise.all(values.map((each) => Promise.resolve(each))).then(next)
    : next(values as readonly T[]);
