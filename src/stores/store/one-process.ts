/** Marks what keeps its content in the memory of one process, so that tools don't expect others to see it. */

/** The same in every copy of the package: tools may come from another one than the store. */
const ONE_PROCESS = Symbol.for("scopegate.one-process");

export const markAsOneProcess = <T extends object>(value: T): T =>
  Object.defineProperty(value, ONE_PROCESS, { value: true });

export const isOneProcess = (value: object): boolean => Object.hasOwn(value, ONE_PROCESS);
