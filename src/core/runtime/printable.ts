/** Replaces tokens and API keys. A client may send them in a path, percent-encoded or not, or in a claim. */
export const withoutTokens = (text: string): string =>
  text.replace(/[\w.~%-]{20,}/g, (word) => (holdsToken(decode(decode(decode(word)))) ? "[token]" : word));

/** Three long parts count as a JWT, whatever the header begins with and whatever surrounds them. */
function holdsToken(word: string): boolean {
  const parts = word.split(".");
  const isJwt = parts.some(
    (middle, index) =>
      /^[\w-]{16,}$/.test(middle) &&
      /[\w-]{16}$/.test(parts[index - 1] ?? "") &&
      /^[\w-]{16}/.test(parts[index + 1] ?? ""),
  );
  return isJwt || TOKEN.test(word);
}

/**
 * Either the base64url of `{"`, with which each JSON part of a JWT begins, at the start of a part or before
 * further base64url. Or a prefix and the random characters of an API key, which may be cut. Fewer characters
 * would also match digests in base64url. Each alternative is anchored or has a fixed length, so the search
 * takes linear time.
 */
const TOKEN = /(?:^|[^\w-])eyJ|eyJ[\w-]{12}|[0-9A-Za-z]_[0-9A-Za-z]{48}/;

const decode = (word: string): string =>
  word.replace(/%([0-7][\da-f])/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));

/** Replaces control characters with `?`: in a log, a line break would start another entry. */
export const printable = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
