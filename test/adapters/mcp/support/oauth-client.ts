import { CLIENT_ID, REDIRECT_URL } from "./authorization-server.ts";

/** What an application gives to the official client of either line: a store, and a browser. */
export interface OAuthClient {
  /** What the authorization server sent the browser back with. */
  readonly answer: () => Promise<URLSearchParams>;
  readonly tokens: () => { readonly scope?: string } | undefined;
}

/** `OAuthClientProvider` of both lines. `browse` opens an authorization URL. */
export function createOAuthClient(
  issuer: string,
  browse: (url: URL) => Promise<URLSearchParams>,
): OAuthClient {
  let client: object = { client_id: CLIENT_ID, issuer };
  let tokens: { readonly scope?: string } | undefined;
  let verifier = "";
  let discovery: object | undefined;
  let answer = Promise.resolve(new URLSearchParams());
  const provider = {
    redirectUrl: REDIRECT_URL,
    clientMetadata: { redirect_uris: [REDIRECT_URL] },
    clientInformation: () => client,
    saveClientInformation: (saved: object) => void (client = saved),
    tokens: () => tokens,
    saveTokens: (saved: object) => void (tokens = saved),
    redirectToAuthorization: (url: URL) => void (answer = browse(url)),
    saveCodeVerifier: (saved: string) => void (verifier = saved),
    codeVerifier: () => verifier,
    discoveryState: () => discovery,
    saveDiscoveryState: (saved: object) => void (discovery = saved),
    answer: () => answer,
  };
  return provider;
}
