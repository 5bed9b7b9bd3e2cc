/**
 * A value, or a promise of it. Values are returned directly if possible, because a promise costs as much as
 * checking a remembered token.
 */
export type Pending<T> = T | Promise<T>;

/** Recognizes a promise by its shape, because a program may have replaced the global `Promise`. */
export const isPending = <T>(value: Pending<T>): value is Promise<T> =>
  typeof value === "object" && value !== null && "then" in value;

/** Handles a promise that nothing awaits: an unhandled rejection would end the process. */
export function ignoreRejection(value: unknown): void {
  Promise.resolve(value).catch(() => undefined);
}
