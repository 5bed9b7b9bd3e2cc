/** The maximum number of bytes that V8 needs for each part of a frozen value that was parsed from JSON. */
const OBJECT = 72;
/** A property with a name that no other object has. */
const PROPERTY = 160;
/** An object with a number as a name may be stored as an array with empty places. */
const INDEXED = 600;
const ELEMENT = 24;
const STRING = 32;
/** Two bytes for each character, because one special character makes V8 use two for the whole string. */
const CHARACTER = 2;

/**
 * Estimates how much memory a JSON value needs. The estimate is usually too high, and never much too low.
 * There is no recursion, because values may be deeply nested. The part `except` doesn't count.
 */
export function estimateBytes(root: unknown, except?: object): number {
  let bytes = 0;
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    bytes += ELEMENT;
    if (typeof value === "string") bytes += STRING + CHARACTER * value.length;
    if (typeof value !== "object" || value === null || value === except) continue;
    bytes += OBJECT;
    if (Array.isArray(value)) {
      for (const element of value) pending.push(element);
      continue;
    }
    const names = Object.keys(value);
    if (names[0] !== undefined && /^\d/.test(names[0])) bytes += INDEXED;
    for (const name of names) {
      bytes += PROPERTY + CHARACTER * name.length;
      pending.push((value as Readonly<Record<string, unknown>>)[name]);
    }
  }
  return bytes;
}
