/** A real OpenID Provider, whose tokens are bound to the key or to the certificate of the client. */
import { createServer } from "node:http";
import type * as oidc from "oidc-provider";
// @ts-expect-error Only the main module has types, and it logs a warning on Node.js 20.
import { Provider as untyped } from "oidc-provider/lib/provider.js";
// @ts-expect-error Only the main module has types.
import UntypedAdapter from "oidc-provider/lib/adapters/memory_adapter.js";
import {
  CLIENT_ID,
  REDIRECT_URL,
  signInConfiguration,
} from "../../adapters/mcp/support/authorization-server.ts";
import { listen } from "../../support/http.ts";

const Provider = untyped as typeof oidc.Provider;
/** The provider warns about its own adapter only. */
class MemoryAdapter extends (UntypedAdapter as oidc.AdapterConstructor) {}

/** Every client may have all of them. */
export const SCOPES = ["docs:read", "agents:web:run", "agents:read"];

/** Gets tokens without a user. Its tokens are bound if it sends a proof. */
export const SERVICE = { id: "service", secret: "service-secret" };
/** The same, with tokens that are bound to its certificate. */
export const CERTIFIED = { id: "certified", secret: "certified-secret" };
/** May introspect tokens. */
export const INTROSPECTOR = { id: "introspector", secret: "introspector-secret" };

/** The field in which the proxy of the provider sends the certificate of a client, as nginx writes it. */
export const CERTIFICATE_FIELD = "x-client-certificate";

/** Tokens for this resource are opaque, and JWTs for every other one. */
export const OPAQUE_RESOURCE = "https://opaque.example";

export interface ProofProvider {
  readonly issuer: string;
  readonly close: () => Promise<void>;
}

export async function openProvider(): Promise<ProofProvider> {
  const server = createServer();
  const { port, close } = await listen(server);
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, configure());
  const callback = provider.callback();
  server.on("request", (request, response) => {
    if (!request.url?.startsWith("/sign-in/")) void callback(request, response);
    else
      void provider.interactionFinished(request, response, { login: { accountId: "user-7" }, consent: {} });
  });
  return { issuer, close };
}

const register = ({ id, secret }: typeof SERVICE, more: object = {}): oidc.ClientMetadata => ({
  client_id: id,
  client_secret: secret,
  token_endpoint_auth_method: "client_secret_post",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
  ...more,
});

function configure(): oidc.Configuration {
  return {
    ...signInConfiguration(SCOPES),
    adapter: MemoryAdapter,
    clients: [
      {
        client_id: CLIENT_ID,
        application_type: "native",
        redirect_uris: [REDIRECT_URL],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
      register(SERVICE),
      register(CERTIFIED, { tls_client_certificate_bound_access_tokens: true }),
      register(INTROSPECTOR, { token_endpoint_auth_method: "client_secret_basic" }),
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: () => true },
      dPoP: { enabled: true },
      mTLS: {
        enabled: true,
        certificateBoundAccessTokens: true,
        getCertificate: (context) => decodeURIComponent(context.get(CERTIFICATE_FIELD)) || undefined,
      },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          audience: resource,
          scope: SCOPES.join(" "),
          accessTokenFormat: resource === OPAQUE_RESOURCE ? "opaque" : "jwt",
        }),
      },
    },
  };
}
