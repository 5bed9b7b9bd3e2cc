import { endOfString, QUOTE } from "../../core/runtime/json.ts";

const DOT = 0x2e;
const SMALL_E = 0x65;
const NUMBER_BYTES: ReadonlySet<number | undefined> = new Set(Buffer.from("+-.0123456789Ee"));

/**
 * Returns the JSON with `""` in place of each number that has a fraction or an exponent; the same buffer if
 * it has none. `7.0` and `70e-1` are the integer 7 only for some parsers.
 */
export function withoutFractions(json: Buffer): Buffer {
  let copy: Buffer | undefined;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index] ?? 0;
    if (byte === QUOTE) index = endOfString(json, index + 1);
    // The `e` of `true` and `false` follows another letter. `| 0x20` makes a capital letter small.
    else if ((byte === DOT || (byte | 0x20) === SMALL_E) && NUMBER_BYTES.has(json[index - 1])) {
      let start = index;
      while (NUMBER_BYTES.has(json[start - 1])) start -= 1;
      while (NUMBER_BYTES.has(json[index + 1])) index += 1;
      copy ??= Buffer.from(json);
      copy.fill('""', start, start + 2).fill(" ", start + 2, index + 1);
    }
  }
  return copy ?? json;
}
