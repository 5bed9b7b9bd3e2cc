/** A value, or a promise of it: a promise would cost as much as the check of a remembered token. */
export type Pending<T> = T | Promise<T>;

/** Recognizes a promise by its shape: a program may have replaced the global `Promise`. */
export const isPending = <T>(value: Pending<T>): value is Promise<T> =>
  typeof value === "object" && value !== null && "then" in value;

/** Handles a promise that nobody waits for: an unhandled rejection would end the process. */
export function ignoreRejection(value: unknown): void {
  Promise.resolve(value).catch(() => undefined);
}
