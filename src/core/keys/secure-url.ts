/**
 * Returns whether keys may be fetched from a URL: https, or http on this machine, because anyone on the
 * network could replace keys sent over http. URLs with credentials are refused: logs would contain them.
 */
export function isSecureUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackUrl(value));
}

/** Returns whether a URL addresses this machine. A name such as `127.0.0.1.example.com` doesn't. */
export function isLoopbackUrl(url: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** Returns a URL for logs: cut to 1,000 characters, and without its query, which may contain a secret. */
export function displayUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return (origin + pathname).slice(0, 1_000);
}
