/** A client may send a token in a path, percent-encoded or not, or in a claim. */
export const withoutTokens = (text: string): string =>
  text.replace(/[\w.~%-]{20,}/g, (word) => (TOKEN.test(decode(decode(decode(word)))) ? "[token]" : word));

/** A part that begins as every JSON object does, or three long parts. */
const TOKEN = /(?:^|[^\w-])eyJ|^[\w-]{16,}\.[\w-]{16,}\.[\w-]{16,}$/;

const decode = (word: string): string =>
  word.replace(/%([0-7][\da-f])/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));

/** A string for a log: control characters, such as line breaks that would begin another entry, become `?`. */
export const printable = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
