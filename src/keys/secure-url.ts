/**
 * Whether keys may be fetched from an address: over https, or over http on this machine. Whoever sits on the way of plain
 * http can put in a key of their own. Credentials in a URL end up in logs, and `fetch` refuses them.
 */
export function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackUrl(text));
}

/** Whether a URL leads to this machine. A name such as `127.0.0.1.example.com` does not. */
export function isLoopbackUrl(text: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(new URL(text).hostname);
}

/**
 * Whether the host of a URL stands for this machine in any way of writing: mapped to IPv6, as the unspecified address, as
 * a name of RFC 6761 section 6.3. More than may be fetched from over http.
 */
export function leadsHere(text: string): boolean {
  const { hostname } = new URL(text);
  return /^(?:(?:.+\.)?localhost\.?|(?:127|0)(?:\.\d{1,3}){3}|\[::1?\]|\[::ffff:(?:7f[\da-f]{2}|0):[\da-f]{1,4}\])$/.test(
    hostname,
  );
}

/** A URL as logs and events show it: queries may hold secrets, and metadata may name one of any length. */
export function displayUrl(text: string): string {
  const { origin, pathname } = new URL(text);
  return (origin + pathname).slice(0, 1_000);
}
