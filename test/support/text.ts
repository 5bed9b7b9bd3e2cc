/** Random text. */
import fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Any Unicode character, half of them ASCII. The `binary` unit of fast-check has the same range, but takes a
 * second to create in each process.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.oneof(
  fc.nat(0x7f).map((code) => String.fromCodePoint(code)),
  fc
    .nat(0x10ffff - SURROGATES.count)
    .map((code) => String.fromCodePoint(code < SURROGATES.first ? code : code + SURROGATES.count)),
);
