/** A real OpenID Provider: discovery, keys that rotate, and access tokens as JWTs (RFC 9068). */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import {
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  SignJWT,
} from "jose";
import type * as oidc from "oidc-provider";
// What the main module exports, without its warning on Node.js 20.
// @ts-expect-error Only the main module has types.
import { Provider as untyped } from "oidc-provider/lib/provider.js";
import { listen } from "./http.ts";

const Provider = untyped as typeof oidc.Provider;

/** The `aud` of tokens that name no other resource. */
export const RESOURCE = "https://agents.example";

export interface OpenIdProvider {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly issuer: string;
  /**
   * An access token from the token endpoint, by client credentials. Every scope that is asked for is granted, and without
   * any there is no claim `scope`; `aud` is the resource, an absolute URI (RFC 8707).
   */
  readonly token: (asked?: { readonly scope?: string; readonly resource?: string }) => Promise<string>;
  /** What no provider issues: its token with other claims, signed again with the key that it was signed with. */
  readonly forge: (token: string, claims: JWTPayload) => Promise<string>;
  /** Adds a key to the JWK Set, the one it was before where it has been there. It does not sign yet. */
  readonly publish: (kid: string) => Promise<void>;
  /** From now on tokens are signed with this published key; the others stay published. */
  readonly signWith: (kid: string) => void;
  /** Takes a key that does not sign out of the JWK Set. */
  readonly withdraw: (kid: string) => void;
  /** Cuts every connection and refuses new ones, as in an outage. */
  readonly stop: () => Promise<void>;
  /** Answers again, on the same port, with the same keys. Does nothing where it is not stopped. */
  readonly start: () => Promise<void>;
  /** Ends it, stopped or not. */
  readonly close: () => Promise<void>;
  /** How many requests a path has had, whatever their method, query and answer. */
  readonly asked: (path: string) => number;
}

/** Opens a provider on a port that the system chooses; its first key, `kid`, is published and signs. */
export async function openOpenIdProvider({
  kid = "key-1",
}: { readonly kid?: string } = {}): Promise<OpenIdProvider> {
  const keys = new Map<string, JWK>([[kid, await generateKey(kid)]]);
  const published = new Set([kid]);
  let signing = kid;

  const requests = new Map<string, number>();
  let answer: RequestListener;
  const server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    requests.set(path, (requests.get(path) ?? 0) + 1);
    answer(request, response);
  });
  // A client that kept its connection would meet the end of it after a restart.
  server.maxRequestsPerSocket = 1;
  const { port, close } = await listen(server);
  const issuer = `http://127.0.0.1:${port}`;

  // A provider reads its keys once.
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
      if (!key) throw new Error("The token is not of this provider.");
      return new SignJWT({ ...decodeJwt(token), ...claims })
        .setProtectedHeader(header)
        .sign(await importJWK(key));
    },
    publish: async (added) => {
      if (!keys.has(added)) keys.set(added, await generateKey(added));
      published.add(added);
      publishKeys();
    },
    signWith: (next) => {
      if (!published.has(next)) throw new Error(`${next} is not published.`);
      signing = next;
    },
    withdraw: (gone) => {
      if (gone === signing) throw new Error(`${gone} signs; sign with another key first.`);
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

async function generateKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" };
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
    throw new Error("The client is configured and its tokens are JWTs: nothing is stored.");
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
    throw new Error(`The token endpoint answers ${response.status}: ${await response.text()}`);
  const { access_token } = (await response.json()) as { readonly access_token: string };
  return access_token;
}
