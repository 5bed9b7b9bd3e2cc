import { isPending, type Pending } from "../../core/runtime/pending.ts";

/** What follows the check of a request. */
interface AfterCheck<Refusal> {
  readonly refuse: (refusal: Refusal) => unknown;
  /** Continues with the handler, or with an error of the check. */
  readonly next: (error?: Error) => unknown;
}

/**
 * Runs a check before the handler of a framework with callbacks. Returns what `refuse` or `next` returns; at
 * once, unless the check returns a promise.
 */
export function checkFirst<Refusal extends object>(
  check: () => Pending<Refusal | undefined>,
  { refuse, next }: AfterCheck<Refusal>,
): unknown {
  let refusal: Pending<Refusal | undefined>;
  try {
    refusal = check();
  } catch (error) {
    return next(toError(error));
  }
  if (!isPending(refusal)) return refusal ? refuse(refusal) : next();
  // Express 4 doesn't await promises: an error of its handler must reach `next`, or no response is sent.
  return refusal
    .then((awaited) => (awaited ? refuse(awaited) : next()))
    .catch((error: unknown) => next(toError(error)));
}

/** Frameworks ignore a thrown value that isn't an error, and continue with the handler. */
const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error("The request couldn't be decided.", { cause: thrown });
