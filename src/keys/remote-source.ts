import { readClock } from "../runtime/clock.ts";
import { type ConfigurationIssue, type Report } from "../errors.ts";
import { isSymmetric } from "./algorithm.ts";
import { discoverJwksUri } from "./discovery.ts";
import { fetchJson, FetchError, type KeyFetch } from "./fetch-json.ts";
import { isJwks } from "./jwks.ts";
import { type KeyUse } from "./key-use.ts";
import { importRemoteJwks } from "./remote-jwks.ts";
import { RemoteKeys } from "./remote-keys.ts";
import { DEFAULT_TIMING, type RemoteTiming } from "./remote-timing.ts";
import { displayUrl, isSecureUrl } from "./secure-url.ts";
import { type KeyResolver } from "./verification-key.ts";

/** How a remote set is fetched, and for how long it is used. */
export interface RemoteOptions extends Partial<RemoteTiming> {
  /**
   * Stands in for the platform's `fetch`: to go through a proxy, or to trust a certificate authority of one's own. It must
   * heed `redirect: "manual"`; the limits of time and size are kept whatever it does.
   */
  readonly fetch?: KeyFetch;
}

/** The URL of a published JWK Set: https, or http on this machine. */
export interface JwksUriSource extends RemoteOptions {
  /** Where the set stands. */
  readonly jwksUri: string;
}

/**
 * The set that the issuer's metadata names (OpenID Connect Discovery 1.0, RFC 8414). `true`: the metadata stands where the
 * issuer's URL says. A URL: the metadata itself when it has a `/.well-known/` part, else what stands in for the issuer's
 * URL. Either way the metadata must name the configured issuer.
 */
export interface DiscoverySource extends RemoteOptions {
  /** Where the metadata stands. */
  readonly discovery: true | string;
}

/** Looked up on every call: what instruments or replaces it may come later. */
const platformFetch: KeyFetch = (url, init) => globalThis.fetch(url, init);

/** Makes the resolver of a remote set; nothing is fetched before the first question. */
export function createRemoteResolver(
  source: JwksUriSource | DiscoverySource,
  use: KeyUse,
  report: Report,
): KeyResolver | undefined {
  const mistakes = [...mistakesOf(source, use)];
  for (const mistake of mistakes) report(mistake);
  if (mistakes.length > 0) return undefined;

  const { algorithms, issuer = "", now, onKeyEvent } = use;
  const { fetch = platformFetch, ...options } = source;
  const at = "jwksUri" in source ? source.jwksUri : source.discovery === true ? issuer : source.discovery;
  const place = displayUrl(at);
  const locate = async (signal: AbortSignal) =>
    "jwksUri" in source ? at : discoverJwksUri(issuer, at, fetch, signal);
  return new RemoteKeys({
    ...DEFAULT_TIMING,
    ...options,
    source: place,
    now: () => readClock(now).getTime(),
    tell: (event) => onKeyEvent({ ...event, source: place, ...(use.issuer !== undefined && { issuer }) }),
    load: async (known, signal) => {
      const jwksUri = await locate(signal);
      const set = await fetchJson(jwksUri, fetch, signal);
      if (!isJwks(set)) throw new FetchError(jwksUri, "answered no JWK Set.");
      return importRemoteJwks(set, algorithms, known);
    },
  });
}

function* mistakesOf(
  source: JwksUriSource | DiscoverySource,
  { algorithms, issuer, path }: KeyUse,
): Generator<ConfigurationIssue> {
  if (algorithms.some(isSymmetric)) {
    yield {
      code: "key_unusable",
      path,
      message: `are published, and ${algorithms.join(", ")} takes a secret.`,
      hint: "Set the algorithm that the issuer signs with, or give the secret as `verificationKeys`.",
    };
  }
  if (!("discovery" in source)) return;
  const issuerPath = [...path.slice(0, -1), "issuer"];
  if (issuer === undefined) {
    yield {
      code: "option_missing",
      path: issuerPath,
      message: "is missing, and `discovery` needs it.",
      hint: "Write the `iss` of the tokens: the metadata must name the same issuer.",
    };
  } else if (source.discovery === true && !isIssuerUrl(issuer)) {
    yield {
      code: "option_invalid",
      path: issuerPath,
      message: "is no URL that metadata can be looked up at.",
      hint: "Write an https URL without query and fragment (RFC 8414 section 2), or `discovery` as the metadata's URL.",
    };
  }
}

const isIssuerUrl = (text: string): boolean => isSecureUrl(text) && !/[?#]/.test(text);
