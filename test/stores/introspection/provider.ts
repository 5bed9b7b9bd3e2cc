/** A real OpenID Provider that issues opaque access tokens, and introspects them for other clients. */
import { createServer } from "node:http";
import type * as oidc from "oidc-provider";
// @ts-expect-error Only the main module has types.
import UntypedAdapter from "oidc-provider/lib/adapters/memory_adapter.js";
import type { IntrospectionClient } from "scopegate/introspection";
import { listen } from "../../support/http.ts";
import { createKey, Provider } from "../../support/openid-provider.ts";

/** The provider warns about its own adapter only. */
class MemoryAdapter extends (UntypedAdapter as oidc.AdapterConstructor) {}

export const RESOURCE = "https://agents.example";
const WEB = { id: "web", secret: "web-secret" };

export interface OpaqueProvider {
  readonly issuer: string;
  /** The clients that may introspect, by what they are registered with. */
  readonly clients: Readonly<Record<"basic" | "post" | "key" | "signed", IntrospectionClient>>;
  /** Requests an access token that is valid for so many seconds. */
  readonly token: (given?: {
    readonly scope?: string;
    readonly resource?: string;
    readonly ttl?: number;
  }) => Promise<string>;
  readonly refreshToken: () => Promise<string>;
  readonly revoke: (token: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

const register = (client_id: string, method: string, more: object): oidc.ClientMetadata =>
  ({
    client_id,
    token_endpoint_auth_method: method,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
    ...more,
  }) as oidc.ClientMetadata;

export async function openOpaqueProvider(): Promise<OpaqueProvider> {
  const [signing, clientKey] = [createKey("provider"), createKey("client")];
  const { kty, n, e, kid, alg, use } = clientKey;
  const publicKey = { kty, n, e, kid, alg, use };
  const basic = { id: "agents basic", secret: "a:b%c d+e/=" };
  const post = { id: "agents-post", secret: "post-secret" };
  const signed = { id: "agents-signed", secret: "signed-secret" };
  let ttl = 600;

  const server = createServer();
  const { port, close } = await listen(server);
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    adapter: MemoryAdapter,
    jwks: { keys: [signing] },
    clients: [
      register(WEB.id, "client_secret_post", { client_secret: WEB.secret }),
      register(basic.id, "client_secret_basic", { client_secret: basic.secret }),
      register(post.id, "client_secret_post", { client_secret: post.secret }),
      register("agents-key", "private_key_jwt", { jwks: { keys: [publicKey] } }),
      register(signed.id, "client_secret_basic", {
        client_secret: signed.secret,
        introspection_signed_response_alg: "RS256",
      }),
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: () => true },
      jwtIntrospection: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (context, resource) => ({
          audience: resource,
          scope: [...context.oidc.requestParamScopes].join(" "),
          accessTokenFormat: "opaque",
        }),
      },
    },
    ttl: { ClientCredentials: () => ttl, Grant: () => 600, RefreshToken: () => 600 },
  });
  const callback = provider.callback();
  server.on("request", (request, response) => void callback(request, response));

  const send = async (path: string, fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: WEB.id, client_secret: WEB.secret, ...fields });
    const response = await fetch(issuer + path, { method: "POST", body });
    if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
    return response.text();
  };
  return {
    issuer,
    clients: {
      basic,
      post: { ...post, method: "client_secret_post" },
      key: { id: "agents-key", privateKey: clientKey, algorithm: "RS256", keyId: "client" },
      signed,
    },
    async token({ scope = "agents:read", resource = RESOURCE, ttl: seconds = 600 } = {}) {
      ttl = seconds;
      const json = await send("/token", { grant_type: "client_credentials", scope, resource });
      return (JSON.parse(json) as { readonly access_token: string }).access_token;
    },
    async refreshToken() {
      const client = await provider.Client.find(WEB.id);
      if (!client) throw new Error("The client is missing.");
      const grant = new provider.Grant({ clientId: WEB.id, accountId: "u1" });
      const grantId = await grant.save();
      const properties = {
        client,
        accountId: "u1",
        grantId,
        scope: "agents:read",
        gty: "authorization_code",
      };
      return new provider.RefreshToken(properties).save();
    },
    async revoke(token) {
      await send("/token/revocation", { token });
    },
    close,
  };
}
