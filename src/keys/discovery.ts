import { fetchJson, FetchError, type KeyFetch } from "./fetch-json.ts";
import { isLoopbackUrl, isSecureUrl, leadsHere } from "./secure-url.ts";

/**
 * Finds the address of an issuer's key set in its metadata (OpenID Connect Discovery 1.0, RFC 8414). The metadata must
 * name exactly the issuer that is expected: otherwise it is the metadata of somebody else (RFC 8414 section 3.3).
 *
 * @throws FetchError
 */
export async function discoverJwksUri(
  issuer: string,
  at: string,
  fetch: KeyFetch,
  signal: AbortSignal,
): Promise<string> {
  const { url, metadata } = await fetchMetadata(metadataUrls(at), fetch, signal);
  const { issuer: named, jwks_uri: jwksUri } = { __proto__: null, ...(metadata as object) } as Readonly<
    Record<string, unknown>
  >;
  if (named !== issuer) {
    throw new FetchError(url, `names the issuer ${show(named)}, and ${show(issuer)} is expected.`);
  }
  if (typeof jwksUri !== "string" || !isSecureUrl(jwksUri)) {
    throw new FetchError(url, "names no `jwks_uri` that is an https URL.");
  }
  // Metadata from elsewhere must not make this machine ask itself.
  if (leadsHere(jwksUri) && !isLoopbackUrl(url)) {
    throw new FetchError(url, "names a `jwks_uri` on this machine.");
  }
  return jwksUri;
}

/**
 * Where metadata may stand. A URL with a `/.well-known/` part is the document itself; of an issuer, OpenID Connect
 * appends to the path (section 4), RFC 8414 inserts before it (section 3.1), and its section 5 tells of both.
 */
function metadataUrls(at: string): readonly string[] {
  const { origin, pathname } = new URL(at);
  if (pathname.includes("/.well-known/")) return [at];
  const path = pathname.replace(/\/$/, "");
  const places = [
    `${path}/.well-known/openid-configuration`,
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
  ];
  return [...new Set(places)].map((place) => origin + place);
}

/** The first document that is there. Only an answer that says that it is not leads on: an outage says nothing. */
async function fetchMetadata(
  urls: readonly string[],
  fetch: KeyFetch,
  signal: AbortSignal,
): Promise<{ readonly url: string; readonly metadata: unknown }> {
  let first: unknown;
  for (const url of urls) {
    try {
      return { url, metadata: await fetchJson(url, fetch, signal) };
    } catch (error) {
      if (!isNotThere(error)) throw error;
      first ??= error;
    }
  }
  // The first place is the one that most issuers use: its address tells a wrong issuer best.
  throw first as FetchError;
}

const isNotThere = (error: unknown): boolean =>
  error instanceof FetchError && [400, 401, 403, 404, 405, 410].includes(error.status ?? 0);

/** Printable ASCII: what an issuer writes must not steer the terminal that shows a log, or look like other text. */
const show = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 200)).replaceAll(/[^ -~]/g, escape) : "none";

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
