/** A real OpenID Provider whose users sign in and consent at once, and a browser for them. */
import { createServer, type RequestListener } from "node:http";
import type { JWK } from "jose";
import type * as oidc from "oidc-provider";
// The main module logs a warning on Node.js 20.
// @ts-expect-error Only the main module has types.
import { Provider as untyped } from "oidc-provider/lib/provider.js";
import { generateKey } from "../../../../src/tools/testing/test-key.ts";
import { listen } from "../../../support/http.ts";

const Provider = untyped as typeof oidc.Provider;

export const CLIENT_ID = "mcp-client";
export const REDIRECT_URL = "http://127.0.0.1/callback";

export interface AuthorizationServer {
  readonly issuer: string;
  /** The `scope` of each authorization request. */
  readonly requested: readonly string[];
  readonly close: () => Promise<void>;
}

/** Issues JWTs for any resource (RFC 8707), to one public client. */
export async function openAuthorizationServer(scopes: readonly string[]): Promise<AuthorizationServer> {
  const { port, close } = await listen(createServer((request, response) => answer(request, response)));
  const issuer = `http://127.0.0.1:${port}`;
  const requested: string[] = [];
  const privateKey = generateKey("rsa", { modulusLength: 2048 });
  const key = { ...(privateKey.export({ format: "jwk" }) as JWK), alg: "RS256", use: "sig" };
  const provider = new Provider(issuer, configure(scopes, key));
  provider.on("authorization.success", ({ oidc: { params } }) => requested.push(String(params?.["scope"])));
  const callback = provider.callback();
  const answer: RequestListener = (request, response) => {
    const isInteraction = request.url?.startsWith("/sign-in/");
    if (!isInteraction) void callback(request, response);
    else
      void provider.interactionFinished(request, response, { login: { accountId: "user-7" }, consent: {} });
  };
  return { issuer, requested, close };
}

const configure = (scopes: readonly string[], key: JWK): oidc.Configuration => ({
  clients: [
    {
      client_id: CLIENT_ID,
      application_type: "native",
      redirect_uris: [REDIRECT_URL],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  jwks: { keys: [key] },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  interactions: { url: (_, { uid }) => `/sign-in/${uid}` },
  ttl: { Interaction: 60, Grant: 60, Session: 60, AccessToken: 60, IdToken: 60 },
  cookies: { keys: ["a key of the tests"] },
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        audience: resource,
        scope: scopes.join(" "),
        accessTokenFormat: "jwt",
      }),
    },
  },
  /** Every user has consented to everything. */
  loadExistingGrant: async ({ oidc: context }) => {
    const { client, session, provider, params } = context;
    const grant = new provider.Grant({
      accountId: session?.accountId ?? "",
      clientId: client?.clientId ?? "",
    });
    grant.addResourceScope(String(params?.["resource"]), scopes.join(" "));
    await grant.save();
    return grant;
  },
});

/** Follows an authorization request as a browser does, up to the URL of the client, and returns this URL. */
export async function follow(url: URL, isOfClient: (next: URL) => boolean): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = url;
  for (let hops = 0; !isOfClient(next); hops += 1) {
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

/** Signs a user in, and returns what the client is called with. */
export async function signIn(url: URL): Promise<URLSearchParams> {
  const next = await follow(url, ({ href }) => href.startsWith(REDIRECT_URL));
  if (!next.searchParams.has("code")) throw new Error(`No code: ${next.href}`);
  return next.searchParams;
}
