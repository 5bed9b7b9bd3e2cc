/** A real OpenID Provider with discovery, key rotation and JWT access tokens (RFC 9068). */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, type JWTPayload, SignJWT } from "jose";
import type * as oidc from "oidc-provider";
// The main module logs a warning on Node.js 20.
// @ts-expect-error Only the main module has types.
import { Provider as untyped } from "oidc-provider/lib/provider.js";
import { generateKey } from "../../src/tools/testing/test-key.ts";
import { listenForRestarts } from "./http.ts";

export const Provider = untyped as typeof oidc.Provider;

/** The `aud` of tokens for which no other resource is requested. */
export const RESOURCE = "https://agents.example";

export interface OpenIdProvider {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  readonly issuer: string;
  /**
   * Requests an access token with the client credentials grant. Every requested scope is granted. Without
   * any, the token has no `scope` claim. `aud` is the resource, an absolute URI (RFC 8707).
   */
  readonly token: (asked?: { readonly scope?: string; readonly resource?: string }) => Promise<string>;
  /** Changes the claims of a token and signs it again with the same key. */
  readonly forge: (token: string, claims: JWTPayload) => Promise<string>;
  /**
   * Adds a key to the JWK Set, without signing with it. A key that was withdrawn becomes the same key again.
   */
  readonly publish: (kid: string) => void;
  /** Signs new tokens with this published key. The other keys stay published. */
  readonly signWith: (kid: string) => void;
  /** Removes a key from the JWK Set. Throws for the signing key. */
  readonly withdraw: (kid: string) => void;
  /** Closes every connection and refuses new ones, as in an outage. */
  readonly stop: () => Promise<void>;
  /** Listens again, on the same port and with the same keys. Has no effect unless stopped. */
  readonly start: () => Promise<void>;
  /** Stops the provider. Has no effect when stopped. */
  readonly close: () => Promise<void>;
  /** The number of requests to a path, with any method, query or response. */
  readonly asked: (path: string) => number;
}

/** Starts a provider on a free port. Its first key, `kid`, is published and signs. */
export async function openOpenIdProvider({
  kid = "key-1",
}: { readonly kid?: string } = {}): Promise<OpenIdProvider> {
  const keys = new Map<string, JWK>([[kid, createKey(kid)]]);
  const published = new Set([kid]);
  let signing = kid;

  const requests = new Map<string, number>();
  let answer: RequestListener;
  const server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    requests.set(path, (requests.get(path) ?? 0) + 1);
    answer(request, response);
  });
  // A connection that a client keeps alive would break at a restart.
  server.maxRequestsPerSocket = 1;
  const { port, close } = await listenForRestarts(server);
  const issuer = `http://127.0.0.1:${port}`;

  // A provider reads its keys only at construction.
  const publishKeys = () => {
    const jwks = [...keys.values()].filter((key) => published.has(key.kid ?? ""));
    const provider = new Provider(
      issuer,
      configure(jwks, () => signing),
    );
    const callback = provider.callback();
    answer = (request, response) => void callback(request, response);
  };
  publishKeys();

  const stop = async () => {
    if (server.listening) await close();
  };
  return {
    issuer,
    token: (asked) => fetchToken(`${issuer}/token`, asked),
    forge: async (token, claims) => {
      const header = { alg: "RS256", ...decodeProtectedHeader(token) };
      const key = keys.get(header.kid ?? "");
      if (!key) throw new Error("This provider did not issue the token.");
      return new SignJWT({ ...decodeJwt(token), ...claims })
        .setProtectedHeader(header)
        .sign(await importJWK(key));
    },
    publish: (added) => {
      if (!keys.has(added)) keys.set(added, createKey(added));
      published.add(added);
      publishKeys();
    },
    signWith: (next) => {
      if (!published.has(next)) throw new Error(`${next} is not published.`);
      signing = next;
    },
    withdraw: (gone) => {
      if (gone === signing) throw new Error(`${gone} is the signing key. Sign with another key first.`);
      if (!published.delete(gone)) throw new Error(`${gone} is not published.`);
      publishKeys();
    },
    stop,
    start: async () => {
      if (server.listening) return;
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    close: stop,
    asked: (path) => requests.get(path) ?? 0,
  };
}

/** Creates a private RSA key for signatures. */
export function createKey(kid: string): JWK {
  const privateKey = generateKey("rsa", { modulusLength: 2048 });
  return { ...(privateKey.export({ format: "jwk" }) as JWK), kid, alg: "RS256", use: "sig" };
}

const CLIENT = { client_id: "agents-client", client_secret: "agents-client-secret" };

const configure = (keys: readonly JWK[], signing: () => string): oidc.Configuration => ({
  jwks: { keys },
  clients: [
    {
      ...CLIENT,
      token_endpoint_auth_method: "client_secret_post",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (context, resource) => ({
        audience: resource,
        scope: [...context.oidc.requestParamScopes].join(" "),
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "RS256", kid: signing() } },
      }),
    },
  },
  ttl: { ClientCredentials: 600 },
  adapter: () => {
    throw new Error("Nothing must be stored: the client is configured, and tokens are JWTs.");
  },
});

async function fetchToken(
  endpoint: string,
  { scope, resource = RESOURCE }: { readonly scope?: string; readonly resource?: string } = {},
): Promise<string> {
  const body = new URLSearchParams({ ...CLIENT, grant_type: "client_credentials", resource });
  if (scope !== undefined) body.set("scope", scope);
  const response = await fetch(endpoint, { method: "POST", body });
  if (!response.ok)
    throw new Error(`The token endpoint responded with ${response.status}: ${await response.text()}`);
  const { access_token } = (await response.json()) as { readonly access_token: string };
  return access_token;
}
