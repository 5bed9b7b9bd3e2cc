/** Checks values of JSON, and detects JSON that parsers read differently. */

export const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const DOT = 0x2e;
const BRACE = 0x7b;
const SMALL_E = 0x65;
/** A byte order mark in UTF-8 starts with this byte, and JSON never does. */
const BYTE_ORDER_MARK = 0xef;
/** Native code searches for the end of strings that have at least this many bytes. */
const LONG = 64;

/**
 * Returns whether every parser reads this value from its JSON. Parsers disagree about byte order marks, and
 * about which of two properties with the same name counts (RFC 8725 section 2.4).
 */
export const isOnlyReading = (value: object, json: Buffer, marks = readMarks(json)): boolean =>
  json[0] !== BYTE_ORDER_MARK && countProperties(value, marks.containers) === marks.colons;

/** Counts colons (one for each property) and containers outside strings, and notes inexact numbers. */
export function readMarks(json: Buffer) {
  // Read once: reading the length takes as long as reading a byte.
  const { length } = json;
  const marks = { colons: 0, containers: 0, hasFraction: false };
  for (let index = 0; index < length; index += 1) {
    // `| 0x20` turns `[` into `{`, and `E` into `e`, which follows a digit in an exponent, but not in `true`.
    const byte = json[index] ?? 0;
    if (byte === QUOTE) index = endOfString(json, index + 1);
    else if (byte === COLON) marks.colons += 1;
    else if ((byte | 0x20) === BRACE) marks.containers += 1;
    else if (byte === DOT || ((byte | 0x20) === SMALL_E && (json[index - 1] ?? 0) < COLON))
      marks.hasFraction = true;
  }
  return marks;
}

/** Returns the position of the quote that ends a string. */
export function endOfString(json: Buffer, from: number): number {
  const { length } = json;
  let start = from;
  let index = from;
  // Used until `index` has passed it: a new search after each escape would take quadratic time.
  let nextQuote = -1;
  while (index < length && json[index] !== QUOTE) {
    index += json[index] === BACKSLASH ? 2 : 1;
    // For a long string without escapes, native code finds the end faster.
    if (index - start < LONG) continue;
    if (nextQuote < index) nextQuote = json.indexOf(QUOTE, index);
    if (nextQuote < 0) return length;
    const escape = json.subarray(index, nextQuote).indexOf(BACKSLASH);
    if (escape < 0) return nextQuote;
    index += escape;
    start = index;
  }
  return index;
}

/** Counts the properties after parsing. Lists the containers, because recursion could overflow the stack. */
function countProperties(root: object, containers: number): number {
  let count = 0;
  const containersFound = [root];
  for (const container of containersFound) {
    const isArray = Array.isArray(container);
    // For objects with many properties, Object.values takes three times as long.
    const namesOrItems = (isArray ? container : Object.keys(container)) as readonly unknown[];
    if (!isArray) count += namesOrItems.length;
    // Every container is known, so only names are left to count. A count that is too low rejects the JSON.
    if (containersFound.length === containers) continue;
    for (const each of namesOrItems) {
      const value = isArray ? each : (container as Readonly<Record<string, unknown>>)[each as string];
      if (typeof value === "object" && value !== null) containersFound.push(value);
    }
  }
  return count;
}

/** An object of JSON, not an array. */
export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns whether a value is a string that isn't empty. */
export const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** An id is a string or a safe integer. Larger integers lose digits: two tenants could get the same id. */
export const isIdentifier = (value: unknown): value is string | number =>
  isText(value) || (Number.isSafeInteger(value) && !Object.is(value, -0));
