/** Random text. */
import fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Any character of Unicode, every other one ASCII. The `binary` unit of fast-check is as wide, and takes a second to make
 * in each process.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.oneof(
  fc.nat(0x7f).map((code) => String.fromCodePoint(code)),
  fc
    .nat(0x10ffff - SURROGATES.count)
    .map((code) => String.fromCodePoint(code < SURROGATES.first ? code : code + SURROGATES.count)),
);
