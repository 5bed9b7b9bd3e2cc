import { isScopeToken } from "../scopes/scope.ts";

/** The auth-params of a Bearer challenge (RFC 6750 section 3, RFC 9728 section 5.1). */
export interface Challenge {
  readonly realm?: string | undefined;
  readonly error?: "invalid_request" | "invalid_token" | "insufficient_scope" | undefined;
  readonly errorDescription?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly resourceMetadataUrl?: string | undefined;
}

/** Many clients and proxies reject responses with more than 4 or 16 KB of headers. */
const MAX_SCOPE_BYTES = 1_024;

/** Added to a header of other middleware, which may offer other schemes (RFC 9110 section 11.6.1). */
export const CHALLENGE_FIELD = "WWW-Authenticate";

/** Renders the value of `WWW-Authenticate` (RFC 9110 section 11.6.1). No other code writes this header. */
export function renderChallenge(challenge: Challenge): string {
  const scope = renderScopes(challenge.scopes ?? []);
  const params = Object.entries({
    realm: challenge.realm,
    error: challenge.error,
    error_description: challenge.errorDescription,
    scope,
    resource_metadata: challenge.resourceMetadataUrl,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${quotedString(value)}`]));
  return params.length === 0 ? "Bearer" : `Bearer ${params.join(", ")}`;
}

/**
 * Returns the value of `scope`; `undefined` without scopes, and if it would be too long for a header. With
 * some of the scopes, clients would request a token that is refused again. The body lists all of them.
 */
function renderScopes(scopes: readonly string[]): string | undefined {
  const scope = scopes.filter(isScopeToken).join(" ");
  return scope === "" || scope.length > MAX_SCOPE_BYTES ? undefined : scope;
}

/** Returns a quoted-string (RFC 9110 section 5.6.4), without the characters that could inject a header. */
function quotedString(value: string): string {
  const safe = value.replaceAll(/[^\x20-\x7e]/g, "");
  return `"${safe.replaceAll(/["\\]/g, "\\$&")}"`;
}
