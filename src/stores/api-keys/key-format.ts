/** The format of a key, `<prefix><id><secret><checksum>`, and the hash that is stored instead of the key. */
import { createHmac, hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";
import type { OptionCheck } from "../../core/options/check-options.ts";

/**
 * A double click selects these characters as one word, and bearer tokens allow them (RFC 6750 section 2.1).
 */
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 43 random characters from an alphabet of 62 have 256 bits. */
const LENGTHS = { id: 12, secret: 43, checksum: 6 };

export const PREFIX_CHECK: OptionCheck = {
  accepts: (prefix) => typeof prefix === "string" && /^[A-Za-z][A-Za-z0-9_]{1,30}_$/.test(prefix),
  hint: "Write 3 to 32 letters, digits and `_`. Begin with a letter and end with `_`: acme_pat_.",
  isRequired: true,
};

export const PEPPER_CHECK: OptionCheck = {
  accepts: (pepper) => typeof pepper === "string" && pepper.length >= 16,
  hint: "Write a string of at least 16 characters, or omit the option. Is the environment variable set?",
  rejectsUndefined: true,
};

export function makeKey(prefix: string): { readonly id: string; readonly key: string } {
  const id = randomCharacters(LENGTHS.id);
  const content = prefix + id + randomCharacters(LENGTHS.secret);
  return { id, key: content + checksumOf(content) };
}

/** Returns the id in a key; `undefined` if the string doesn't have the format of a key. */
export function idOf(key: string, prefix: string): string | undefined {
  const { id, secret, checksum } = LENGTHS;
  if (key.length !== prefix.length + id + secret + checksum || !/^\w+$/.test(key)) return undefined;
  const isIntact = checksumOf(key.slice(0, -checksum)) === key.slice(-checksum);
  return isIntact ? key.slice(prefix.length, prefix.length + id) : undefined;
}

/** Hashes a key. No slow hash is needed, because the random secret can't be guessed. */
export function digestOf(key: string, pepper?: string): Buffer {
  if (pepper === undefined) return hash("sha256", key, "buffer");
  return createHmac("sha256", pepper).update(key).digest();
}

const randomCharacters = (count: number): string =>
  Array.from({ length: count }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");

/** CRC-32 detects every change of one character, or of up to four adjacent characters. */
function checksumOf(content: string): string {
  let rest = crc32(content);
  let digits = "";
  // Starts with the last digit.
  while (digits.length < LENGTHS.checksum) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
