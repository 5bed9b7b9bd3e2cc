/** A real OpenID Provider that counts sign-ins, with clients that are registered before or dynamically. */
import { createServer, type RequestListener } from "node:http";
import type { JWK } from "jose";
import type * as oidc from "oidc-provider";
// The main module logs a warning on Node.js 20.
// @ts-expect-error Only the main module has types.
import { Provider as untyped } from "oidc-provider/lib/provider.js";
import { generateKey } from "../../../../src/tools/testing/test-key.ts";
import { listen } from "../../../support/http.ts";

const Provider = untyped as typeof oidc.Provider;

/** A client that may request every scope. The port of its redirect URL can be any (RFC 8252 section 7.3). */
export const CLIENT_ID = "mcp-client";
export const REDIRECT_URL = "http://127.0.0.1/callback";

/** The `acr` of a login with more than a password. */
export const STRONG = "urn:example:strong";

/** The parameters of an authorization request, and the error that answered it. */
export interface Authorization {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly error?: string;
}

export interface AuthorizationServer {
  readonly issuer: string;
  readonly authorizations: readonly Authorization[];
  /** The bodies of dynamic registrations. */
  readonly registrations: readonly Readonly<Record<string, unknown>>[];
  readonly close: () => Promise<void>;
}

interface Options {
  readonly scopes: readonly string[];
  /** Whether the user refuses an authorization request. */
  readonly isDenied?: (scope: string | undefined) => boolean;
  /** Whether clients get refresh tokens. */
  readonly canRefresh?: boolean;
}

/** Issues JWTs for any resource (RFC 8707). Users sign in and consent at once, unless `isDenied`. */
export async function openAuthorizationServer({
  scopes,
  isDenied = () => false,
  canRefresh = false,
}: Options): Promise<AuthorizationServer> {
  const { port, close } = await listen(createServer((request, response) => answer(request, response)));
  const issuer = `http://127.0.0.1:${port}`;
  const authorizations: Authorization[] = [];
  const registrations: Readonly<Record<string, unknown>>[] = [];
  const provider = new Provider(issuer, configure(scopes, canRefresh));
  const paramsOf = (context: oidc.KoaContextWithOIDC) =>
    ({ ...context.oidc.params }) as Authorization["params"];
  provider.on("authorization.success", (context) => authorizations.push({ params: paramsOf(context) }));
  provider.on("authorization.error", (context, { error }) =>
    authorizations.push({ params: paramsOf(context), error }),
  );
  provider.on("registration_create.success", (_, client) => registrations.push({ ...client.metadata() }));
  const callback = provider.callback();
  const answer: RequestListener = (request, response) => {
    if (request.url?.startsWith("/sign-in/"))
      void provider.interactionDetails(request, response).then(({ params }) => {
        const refusal = { error: "access_denied", error_description: "The user refused." };
        const result = isDenied(params["scope"] as string | undefined) ? refusal : logIn(params);
        return provider.interactionFinished(request, response, result);
      });
    else void callback(request, response);
  };
  return { issuer, authorizations, registrations, close };
}

/** The user logged in an hour ago with a password, and logs in again only if the client asks for more. */
function logIn(params: Readonly<Record<string, unknown>>): oidc.InteractionResults {
  const isAsked = params["acr_values"] !== undefined || params["max_age"] !== undefined;
  const now = Math.floor(Date.now() / 1000);
  const login = isAsked ? { acr: STRONG, ts: now } : { acr: "urn:example:password", ts: now - 3600 };
  return { login: { accountId: "user-7", ...login }, consent: {} };
}

function configure(scopes: readonly string[], canRefresh: boolean): oidc.Configuration {
  return {
    ...signInConfiguration(scopes),
    clients: [
      {
        client_id: CLIENT_ID,
        application_type: "native",
        redirect_uris: [REDIRECT_URL, "http://127.0.0.1/oauth/callback"],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
      },
    ],
    // A client that registers with some of these scopes may request no other one.
    scopes: ["openid", ...scopes],
    acrValues: [STRONG],
    issueRefreshToken: () => canRefresh,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, audience) => ({
          audience,
          scope: scopes.join(" "),
          accessTokenFormat: "jwt",
        }),
      },
    },
    extraTokenClaims: ({ oidc: { entities } }) => ({
      acr: entities.AuthorizationCode?.acr,
      auth_time: entities.AuthorizationCode?.authTime,
    }),
  };
}

/** Any user signs in at `/sign-in/...`, and has consented to everything. */
export function signInConfiguration(scopes: readonly string[]): oidc.Configuration {
  const privateKey = generateKey("rsa", { modulusLength: 2048 });
  const key = { ...(privateKey.export({ format: "jwk" }) as JWK), kid: "key-1", alg: "RS256", use: "sig" };
  const kinds = [
    ...["Interaction", "Grant", "Session", "AccessToken", "ClientCredentials", "IdToken", "RefreshToken"],
  ];
  return {
    jwks: { keys: [key] },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_, { uid }) => `/sign-in/${uid}` },
    ttl: Object.fromEntries(kinds.map((kind) => [kind, 600])),
    cookies: { keys: ["a key of the tests"] },
    loadExistingGrant: async ({ oidc: context }) => {
      const { client, session, provider, params } = context;
      const grant = new provider.Grant({
        accountId: session?.accountId ?? "",
        clientId: client?.clientId ?? "",
      });
      grant.addResourceScope(String(params?.["resource"]), scopes.join(" "));
      grant.addOIDCScope(["openid", ...scopes].join(" "));
      await grant.save();
      return grant;
    },
  };
}

/** Signs a user in, as a browser does, and returns the URL of the client that the issuer redirects to. */
export async function signIn(url: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = url;
  for (let hops = 0; next.origin === url.origin; hops += 1) {
    if (hops === 10) throw new Error(`The authorization server redirects forever: ${url.href}`);
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(next, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${response.status}: ${await response.text()}`);
    next = new URL(location, next);
  }
  return next;
}
