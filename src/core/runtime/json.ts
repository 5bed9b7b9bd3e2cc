/** Detects JSON that parsers read in different ways. */

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** The first byte of a byte order mark in UTF-8. JSON never starts with it. */
const BYTE_ORDER_MARK = 0xef;
/** From this length on, in bytes, native code searches for the end of a string. */
const LONG = 64;

/**
 * Reports whether every parser reads this value from its JSON. Parsers disagree about a byte order mark, and
 * about which of two properties with the same name counts (RFC 8725 section 2.4).
 */
export const isOnlyReading = (value: object, json: Buffer): boolean =>
  json[0] !== BYTE_ORDER_MARK && countProperties(value) === countColons(json);

/** Counts the properties in the source text: each has one colon outside of strings. */
function countColons(json: Buffer): number {
  // Read once: reading the length of a buffer takes as long as reading a byte.
  const { length } = json;
  let colons = 0;
  for (let index = 0; index < length; index += 1) {
    const byte = json[index];
    if (byte === COLON) colons += 1;
    if (byte !== QUOTE) continue;
    index = endOfString(json, index + 1);
  }
  return colons;
}

/** Returns the position of the quote that ends a string. */
function endOfString(json: Buffer, from: number): number {
  const { length } = json;
  let start = from;
  let index = from;
  while (index < length && json[index] !== QUOTE) {
    index += json[index] === BACKSLASH ? 2 : 1;
    // A long string: native code finds its end faster, if it has no escapes.
    if (index - start < LONG) continue;
    const end = json.indexOf(QUOTE, index);
    const escape = json.subarray(index, end < 0 ? length : end).indexOf(BACKSLASH);
    if (end < 0) return length;
    if (escape < 0) return end;
    index += escape;
    start = index;
  }
  return index;
}

/** Counts the properties after parsing, without recursion: deeply nested JSON must not overflow the stack. */
function countProperties(root: object): number {
  let count = 0;
  const pending: object[] = [root];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const isArray = Array.isArray(next);
    // Not Object.values: it takes three times as long for an object of many properties.
    const entries = (isArray ? next : Object.keys(next)) as readonly unknown[];
    if (!isArray) count += entries.length;
    for (const entry of entries) {
      const value = isArray ? entry : (next as Readonly<Record<string, unknown>>)[entry as string];
      if (typeof value === "object" && value !== null) pending.push(value);
    }
  }
  return count;
}
