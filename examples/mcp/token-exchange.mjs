/** Gets a token for another API in the name of the caller of a tool (RFC 8693). */
import { principalOf } from "scopegate/mcp";

/** The token that `protectMcp` has verified. */
function tokenOf({ authInfo, http }) {
  const { token } = authInfo ?? http?.authInfo ?? {};
  if (token) return token;
  throw new Error("This tool needs a caller with a token.");
}

/**
 * Returns a function that exchanges the token of a tool's caller, so that the new one has the same user. The
 * client is the MCP server's at the authorization server, and `audience` is the `aud` that the API expects.
 */
export function createExchange({ tokenEndpoint, clientId, clientSecret, audience, scope }) {
  const credentials = [clientId, clientSecret].map(encodeURIComponent).join(":");
  const tokens = new WeakMap();
  const exchange = async (token) => {
    const response = await fetch(tokenEndpoint, {
      method: "POST",
      headers: { Authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token: token,
        subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
        audience,
        scope,
      }),
      signal: AbortSignal.timeout(5_000),
    });
    if (!response.ok) throw new Error(`The authorization server refused the exchange: ${response.status}`);
    const { access_token, expires_in = 60 } = await response.json();
    // Its last seconds are left for the call of the API.
    return { token: access_token, end: performance.now() + (expires_in - 10) * 1_000 };
  };
  return async (extra) => {
    const principal = principalOf(extra);
    if (!principal) throw new Error("This tool needs a caller with a token.");
    // One exchange for all calls with the same token, while scopegate remembers its principal.
    const known = await tokens.get(principal);
    if (known && known.end > performance.now()) return known.token;
    const exchanged = exchange(tokenOf(extra));
    tokens.set(principal, exchanged);
    exchanged.catch(() => tokens.delete(principal));
    return (await exchanged).token;
  };
}
