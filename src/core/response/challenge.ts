import { isScopeToken } from "../scopes/scope.ts";

/** One challenge: its scheme and its auth-params (RFC 6750 section 3, RFC 9449, RFC 9470, RFC 9728). */
export interface Challenge {
  readonly scheme: "Bearer" | "DPoP";
  readonly realm?: string | undefined;
  readonly error?:
    | "invalid_request"
    | "invalid_token"
    | "insufficient_scope"
    | "insufficient_user_authentication"
    | "invalid_dpop_proof"
    | "use_dpop_nonce"
    | undefined;
  readonly errorDescription?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** Added to `scopes`, unless the result would be too long. */
  readonly retainedScopes?: readonly string[] | undefined;
  readonly acrValues?: readonly string[] | undefined;
  readonly maxAgeSeconds?: number | undefined;
  /** For the scheme DPoP: the algorithms of proofs. */
  readonly algorithms?: readonly string[] | undefined;
  readonly resourceMetadataUrl?: string | undefined;
}

/** Many clients and proxies reject responses with more than 4 or 16 KB of headers. */
const MAX_LIST_BYTES = 1_024;

/** Added to the headers of other middleware, which may offer other schemes (RFC 9110 section 11.6.1). */
export const CHALLENGE_FIELD = "WWW-Authenticate";

/** Renders the value of `WWW-Authenticate` (RFC 9110 section 11.6.1). No other code writes this header. */
export const renderChallenges = (challenges: readonly Challenge[]): string =>
  challenges.map(renderChallenge).join(", ");

function renderChallenge(challenge: Challenge): string {
  const { acrValues = [], maxAgeSeconds, scopes = [], retainedScopes = [] } = challenge;
  const hasMore = scopes.length > 0 && retainedScopes.length > 0;
  const extended = hasMore ? [...new Set([...scopes, ...retainedScopes])] : scopes;
  const params = Object.entries({
    realm: challenge.realm,
    error: challenge.error,
    error_description: challenge.errorDescription,
    scope: renderList(extended.filter(isScopeToken)) ?? renderList(scopes.filter(isScopeToken)),
    acr_values: renderList(acrValues),
    max_age: maxAgeSeconds === undefined ? undefined : String(maxAgeSeconds),
    algs: challenge.algorithms?.join(" "),
    resource_metadata: challenge.resourceMetadataUrl,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${quotedString(value)}`]));
  return [challenge.scheme, params.join(", ")].filter((part) => part !== "").join(" ");
}

/**
 * Returns a space-delimited list; `undefined` if it's empty, or too long for a header. With only a part of
 * the list, clients would request a token that is refused again. The body contains all scopes.
 */
function renderList(values: readonly string[]): string | undefined {
  const list = values.join(" ");
  return list === "" || list.length > MAX_LIST_BYTES ? undefined : list;
}

/** Returns a quoted-string (RFC 9110 section 5.6.4), without characters that could inject a header. */
function quotedString(value: string): string {
  const safe = value.replaceAll(/[^\x20-\x7e]/g, "");
  return `"${safe.replaceAll(/["\\]/g, "\\$&")}"`;
}
