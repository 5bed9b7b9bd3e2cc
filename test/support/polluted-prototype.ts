/** Properties on `Object.prototype`, as after a prototype pollution attack. */

type Properties = Readonly<Record<string, unknown>>;

/** Without `isEnumerable`, checks of options don't report the properties as unknown options. */
interface Pollution {
  readonly isEnumerable?: boolean;
}

/** Adds the properties, and returns a function that removes them. */
export function pollute(properties: Properties, { isEnumerable = true }: Pollution = {}): () => void {
  const attributes = { enumerable: isEnumerable, configurable: true, writable: true };
  for (const [name, value] of Object.entries(properties))
    Object.defineProperty(Object.prototype, name, { value, ...attributes });
  return () => {
    for (const name of Object.keys(properties)) Reflect.deleteProperty(Object.prototype, name);
  };
}

/** Runs a function with the properties, until its promise is settled if it returns one. */
export function withPollution<T>(properties: Properties, run: () => T, options?: Pollution): T {
  const restore = pollute(properties, options);
  let result: T;
  try {
    result = run();
  } catch (error) {
    restore();
    throw error;
  }
  if (result instanceof Promise) return result.finally(restore) as T;
  restore();
  return result;
}
