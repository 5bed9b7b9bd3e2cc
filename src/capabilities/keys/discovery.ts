import { fetchJson, FetchError, type KeyFetch } from "../../core/keys/fetch-json.ts";
import { isLoopbackUrl, isSecureUrl } from "../../core/keys/secure-url.ts";

/**
 * Finds the URL of an issuer's JWK Set in its metadata (OpenID Connect Discovery 1.0, RFC 8414). Rejects
 * metadata that names another issuer, so that none can publish keys for another one (RFC 8414 section 3.3).
 *
 * @throws FetchError
 */
export async function discoverJwksUri(
  issuer: string,
  metadataUrl: string,
  fetch: KeyFetch,
  signal: AbortSignal,
): Promise<string> {
  const { url, metadata } = await fetchMetadata(candidateUrls(metadataUrl), fetch, signal);
  // Without a prototype, so that a polluted one can't provide a missing property.
  const properties: Readonly<Record<string, unknown>> = { __proto__: null, ...(metadata as object) };
  const { issuer: publishedIssuer, jwks_uri: jwksUri } = properties;
  if (publishedIssuer !== issuer) {
    const published =
      typeof publishedIssuer === "string" ? `issuer ${asciiOf(publishedIssuer)}` : "no issuer";
    throw new FetchError(
      url,
      `returned metadata of ${published}, but the configured issuer is ${asciiOf(issuer)}.`,
    );
  }
  if (typeof jwksUri !== "string" || !isSecureUrl(jwksUri)) {
    throw new FetchError(url, "returned metadata without an https `jwks_uri`.");
  }
  // Remote metadata must not make this machine send requests to itself (SSRF).
  if (isLocalUrl(jwksUri) && !isLoopbackUrl(url)) {
    throw new FetchError(url, "returned metadata whose `jwks_uri` is on this machine.");
  }
  return jwksUri;
}

/**
 * Returns whether a URL addresses this machine in any spelling: as IPv4-mapped IPv6, as the unspecified
 * address, or as a name below `localhost` (RFC 6761 section 6.3). Matches more than `isLoopbackUrl`.
 */
function isLocalUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(?:(?:.+\.)?localhost\.?|(?:127|0)(?:\.\d{1,3}){3}|\[::1?\]|\[::ffff:(?:7f[\da-f]{2}|0):[\da-f]{1,4}\])$/.test(
    hostname,
  );
}

/** Returns the URL to try first: the one of OpenID Connect, unless the options name another. */
export const metadataUrlOf = (url: string): string => candidateUrls(url)[0] ?? url;

/**
 * Returns the URLs to try: the URL itself if it contains `/.well-known/`. For an issuer, OpenID Connect puts
 * this part after the path (section 4). RFC 8414 puts it before the path (section 3.1), with its own name or
 * with the one of OpenID Connect (section 5).
 */
function candidateUrls(metadataUrl: string): readonly string[] {
  const { origin, pathname } = new URL(metadataUrl);
  if (pathname.includes("/.well-known/")) return [metadataUrl];
  const path = pathname.replace(/\/$/, "");
  const candidates = [
    `${path}/.well-known/openid-configuration`,
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
  ];
  return [...new Set(candidates)].map((candidate) => origin + candidate);
}

/** Fetches the first document that exists. After an outage, no further URL is tried. */
async function fetchMetadata(
  urls: readonly string[],
  fetch: KeyFetch,
  signal: AbortSignal,
): Promise<{ readonly url: string; readonly metadata: unknown }> {
  let firstError: unknown;
  for (const url of urls) {
    try {
      return { url, metadata: await fetchJson(url, fetch, signal) };
    } catch (error) {
      if (!(error instanceof FetchError) || !NOT_HERE.has(error.status)) throw error;
      firstError ??= error;
    }
  }
  // Most issuers use the first URL, so its error is the most useful one.
  throw firstError as FetchError;
}

const NOT_HERE: ReadonlySet<number | undefined> = new Set([400, 401, 403, 404, 405, 410]);

/** Quotes a string as printable ASCII: no issuer may inject terminal escapes or look-alikes into a log. */
const asciiOf = (value: string): string =>
  JSON.stringify(value.slice(0, 200)).replaceAll(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
