import { CLIENT_ID, REDIRECT_URL } from "./authorization-server.ts";

/** What an application gives to an MCP client: a store, and a browser. */
export interface OAuthClient {
  /** What the authorization server sent the browser back with, once; empty without a redirect. */
  readonly answer: () => Promise<URLSearchParams>;
  readonly tokens: () => { readonly scope?: string } | undefined;
}

/** `OAuthClientProvider` of the SDKs. `browse` opens an authorization URL. A dynamic client registers itself. */
export function createOAuthClient(
  issuer: string,
  browse: (url: URL) => Promise<URL>,
  isDynamic = false,
): OAuthClient {
  let client: object | undefined = isDynamic ? undefined : { client_id: CLIENT_ID, issuer };
  let tokens: { readonly scope?: string } | undefined;
  let verifier = "";
  let discovery: object | undefined;
  let redirect: Promise<URL> | undefined;
  const provider = {
    redirectUrl: REDIRECT_URL,
    clientMetadata: {
      client_name: "test",
      redirect_uris: [REDIRECT_URL],
      application_type: "native",
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => client,
    saveClientInformation: (saved: object) => void (client = saved),
    tokens: () => tokens,
    saveTokens: (saved: object) => void (tokens = saved),
    redirectToAuthorization: (url: URL) => void (redirect = browse(url)),
    saveCodeVerifier: (saved: string) => void (verifier = saved),
    codeVerifier: () => verifier,
    discoveryState: () => discovery,
    saveDiscoveryState: (saved: object) => void (discovery = saved),
    authorizationServerInformation: () => discovery,
    saveAuthorizationServerInformation: (saved: object) => void (discovery = saved),
    answer: async () => {
      const answer = await redirect;
      redirect = undefined;
      return answer?.searchParams ?? new URLSearchParams();
    },
  };
  return provider;
}
