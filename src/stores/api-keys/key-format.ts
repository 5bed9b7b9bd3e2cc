/** The form of a key, `<prefix><id><secret><checksum>`, and the hash that a store has instead of the key. */
import { createHmac, hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

/** A double click selects a word of these characters, and bearer tokens allow them (RFC 6750 section 2.1). */
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 43 random characters of an alphabet of 62 have 256 bits. */
const LENGTHS = { id: 12, secret: 43, checksum: 6 };

/** @throws TypeError */
export function requirePrefix(prefix: unknown): void {
  if (typeof prefix !== "string" || !/^[A-Za-z][A-Za-z0-9_]{1,30}_$/.test(prefix))
    throw new TypeError("`prefix` must be letters, digits and `_`, and end with `_`, such as acme_pat_.");
}

export function makeKey(prefix: string): { readonly id: string; readonly key: string } {
  const id = randomCharacters(LENGTHS.id);
  const content = prefix + id + randomCharacters(LENGTHS.secret);
  return { id, key: content + checksumOf(content) };
}

/** Returns the id in a key; `undefined` if the string does not have the form of a key. */
export function idOf(key: string, prefix: string): string | undefined {
  const { id, secret, checksum } = LENGTHS;
  if (key.length !== prefix.length + id + secret + checksum || !/^\w+$/.test(key)) return undefined;
  const isIntact = checksumOf(key.slice(0, -checksum)) === key.slice(-checksum);
  return isIntact ? key.slice(prefix.length, prefix.length + id) : undefined;
}

/**
 * Hashes a key. A slow hash is not needed: the secret is random, so it cannot be guessed.
 *
 * @throws TypeError for a pepper that is too short or `undefined`: an unset variable must not turn it off
 */
export function digestOf(key: string, options: { readonly pepper?: string }): Buffer {
  if (!("pepper" in options)) return hash("sha256", key, "buffer");
  if (typeof options.pepper !== "string" || options.pepper.length < 16)
    throw new TypeError("`pepper` must be a string of at least 16 characters.");
  return createHmac("sha256", options.pepper).update(key).digest();
}

const randomCharacters = (count: number): string =>
  Array.from({ length: count }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");

/** CRC-32 detects every change of one character, or of up to four adjacent characters. */
function checksumOf(content: string): string {
  const value = crc32(content);
  const digits = Array.from({ length: LENGTHS.checksum }, (_, index) => Math.floor(value / 62 ** index) % 62);
  return digits
    .map((digit) => ALPHABET[digit])
    .reverse()
    .join("");
}
