/** Gets a token for another API in the name of the caller of a tool (RFC 8693). */
import { type HandlerExtra, principalOf } from "scopegate/mcp";

/** The client of the MCP server at the authorization server, and the API that its tools call. */
export interface ExchangeOptions {
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The `aud` that the API expects. */
  readonly audience: string;
  readonly scope: string;
}

/** The token that `protectMcp` has verified. */
function tokenOf({ authInfo, http }: HandlerExtra): string {
  const { token } = (authInfo ?? http?.authInfo ?? {}) as { readonly token?: string };
  if (token) return token;
  throw new Error("This tool needs a caller with a token.");
}

/** Returns a function that exchanges the token of a tool's caller. The new one has the same user. */
export function createExchange({
  tokenEndpoint,
  clientId,
  clientSecret,
  audience,
  scope,
}: ExchangeOptions): (extra: HandlerExtra) => Promise<string> {
  const credentials = [clientId, clientSecret].map(encodeURIComponent).join(":");
  const tokens = new WeakMap<object, Promise<string>>();
  const exchange = async (token: string): Promise<string> => {
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
    return ((await response.json()) as { readonly access_token: string }).access_token;
  };
  return (extra) => {
    const principal = principalOf(extra);
    if (!principal) throw new Error("This tool needs a caller with a token.");
    // One exchange for all calls with the same token, while scopegate remembers its principal.
    const exchanged = tokens.get(principal) ?? exchange(tokenOf(extra));
    tokens.set(principal, exchanged);
    exchanged.catch(() => tokens.delete(principal));
    return exchanged;
  };
}
