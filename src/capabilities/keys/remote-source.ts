import { compact } from "../../core/runtime/compact.ts";
import type { ConfigurationIssue, Report } from "../../core/errors.ts";
import { isSymmetric } from "../../core/keys/algorithm.ts";
import { discoverJwksUri, metadataUrlOf } from "./discovery.ts";
import { fetchJson, FetchError, type KeyFetch } from "../../core/keys/fetch-json.ts";
import { defaultFetch } from "../../core/keys/http-request.ts";
import { importerFor, importPublished, isJwks, type KeyUse } from "./jwks.ts";
import type { KeySourceContext } from "../../core/keys/key-event.ts";
import type { RemoteTiming } from "./key-age.ts";
import { LoadedKeys } from "./loaded-keys.ts";
import { displayUrl, isSecureUrl } from "../../core/keys/secure-url.ts";
import type { JsonWebKeySet, KeyResolver } from "../../core/keys/verification-key.ts";

/** How a remote set is fetched and how long it is used. */
export interface RemoteOptions extends Partial<RemoteTiming> {
  /**
   * Sends the requests, for example through a proxy or with a private certificate authority. It must support
   * `redirect: "manual"`. The limits on time and size also apply to it. By default requests are sent with
   * `node:https`: with the global `fetch` of Node.js 20 to 24, one response can end the process.
   */
  readonly fetch?: KeyFetch;
}

/** The URL of a published JWK Set: https, or http on this machine. */
export interface JwksUriSource extends RemoteOptions, KeyUse {
  /** The URL of the set. */
  readonly jwksUri: string;
}

/**
 * The set that the issuer's metadata names (OpenID Connect Discovery 1.0, RFC 8414). With `true` the URL of
 * the metadata is derived from `issuer`. A URL with a `/.well-known/` part is the metadata itself; any other
 * URL replaces `issuer` in the derivation. The metadata must always name the configured issuer.
 */
export interface DiscoverySource extends RemoteOptions, KeyUse {
  /** Where to find the metadata. */
  readonly discovery: true | string;
}

const DEFAULTS = { timeoutMs: 5_000, cooldownMs: 30_000, maxAgeMs: 600_000, staleMs: 3_600_000 };

/** Creates the resolver of a remote set. Nothing is fetched before the first lookup. */
export function createRemoteResolver(
  source: JwksUriSource | DiscoverySource,
  context: KeySourceContext,
  report: Report,
): KeyResolver | undefined {
  const mistakes = findRemoteMistakes(source, context);
  for (const mistake of mistakes) report(mistake);
  if (mistakes.length > 0) return undefined;

  const { issuer = "" } = context;
  const { fetch: ownFetch, use, ...timing } = source;
  const fetch = context.guardFetch?.(ownFetch) ?? ownFetch ?? defaultFetch;
  const importEntry = importerFor(use, importPublished);
  const url = configuredUrl(source, issuer);
  const shownUrl = displayUrl(url);
  const metadataUrl = "discovery" in source ? displayUrl(metadataUrlOf(url)) : undefined;
  const load = async (signal: AbortSignal): Promise<JsonWebKeySet> => {
    if (signal.aborted) throw new Error(`${shownUrl} can't be fetched: the resource server is closed.`);
    const jwksUri = "jwksUri" in source ? url : await discoverJwksUri(issuer, url, fetch, signal);
    const set = await fetchJson(jwksUri, fetch, signal);
    if (!isJwks(set)) throw new FetchError(jwksUri, "didn't return a JWK Set.");
    return set;
  };
  return new LoadedKeys(
    { ...DEFAULTS, ...timing, source: shownUrl, ...compact({ metadataUrl }), importEntry, load },
    context,
  );
}

function configuredUrl(source: JwksUriSource | DiscoverySource, issuer: string): string {
  if ("jwksUri" in source) return source.jwksUri;
  return source.discovery === true ? issuer : source.discovery;
}

function findRemoteMistakes(
  source: JwksUriSource | DiscoverySource,
  { algorithms, issuer, path }: KeySourceContext,
): readonly ConfigurationIssue[] {
  const mistakes: ConfigurationIssue[] = [];
  if (algorithms.some(isSymmetric)) {
    const message = `is a published JWK Set, but ${algorithms.join(", ")} requires a secret.`;
    const hint = "Set the algorithm that the issuer signs with, or pass the secret as `verificationKeys`.";
    mistakes.push({ code: "key_unusable", path, message, hint });
  }
  if (!("discovery" in source)) return mistakes;
  const issuerPath = [...path.slice(0, -1), "issuer"];
  if (issuer === undefined) {
    const message = "is missing, but `discovery` requires it.";
    const hint = "Set it to the `iss` of the tokens. The metadata must name the same issuer.";
    mistakes.push({ code: "option_missing", path: issuerPath, message, hint });
  } else if (source.discovery === true && (!isSecureUrl(issuer) || /[?#]/.test(issuer))) {
    const message = "isn't a URL from which metadata can be discovered.";
    const hint =
      "Use an https URL without query and fragment (RFC 8414 section 2), or set `discovery` to the URL of the metadata.";
    mistakes.push({ code: "option_invalid", path: issuerPath, message, hint });
  }
  return mistakes;
}
