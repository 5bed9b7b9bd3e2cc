/** One step-up (RFC 9470) from end to end: a real provider, a client with a browser's cookies, and a server. */
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type * as oidc from "oidc-provider";
// The main module logs a warning on Node.js 20.
// @ts-expect-error Only the main module has types.
import { Provider as untyped } from "oidc-provider/lib/provider.js";
import { protect } from "scopegate/node";
import { ask, listen } from "../support/http.ts";
import { createResourceServer } from "../support/server.ts";

const Provider = untyped as typeof oidc.Provider;
const CLIENT = { client_id: "shop", redirect_uri: "https://shop.example/callback" };
const RESOURCE = "https://api.example";

afterEach(() => vi.useRealTimers());

async function openProvider() {
  const server = createServer((request, response) => void answer(request, response));
  const { port, close } = await listen(server);
  onTestFinished(close);
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.client_id,
        redirect_uris: [CLIENT.redirect_uri],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    cookies: { keys: [randomBytes(32).toString("hex")] },
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          audience: RESOURCE,
          scope: "refunds:create",
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    // RFC 9470 section 6: the resource server needs the time of the login in the access token.
    extraTokenClaims: ({ oidc: { entities } }) => ({ auth_time: entities.AuthorizationCode?.authTime }),
  });
  const answer = provider.callback();
  return issuer;
}

/** A client that keeps the cookies of the provider, as the browser of its user does. */
function createClient(issuer: string) {
  const cookies = new Map<string, { readonly value: string; readonly path: string }>();
  let logins = 0;

  const send = async (url: URL, form?: Readonly<Record<string, string>>): Promise<Response> => {
    const sent = [...cookies].filter(([, { path }]) => url.pathname.startsWith(path));
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: sent.map(([name, { value }]) => `${name.split(" ")[0]}=${value}`).join("; ") },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? "/";
      if (value === "") cookies.delete(`${name} ${path}`);
      else cookies.set(`${name} ${path}`, { value, path });
    }
    return response;
  };

  /** Follows the redirects of an authorization request, and fills in the forms of the provider. */
  const authorize = async (parameters: Readonly<Record<string, string>>): Promise<string> => {
    let url = new URL(`${issuer}/auth?${String(new URLSearchParams(parameters))}`);
    for (let steps = 0; steps < 12; steps += 1) {
      const response = await send(url);
      const location = response.headers.get("location");
      if (location !== null) {
        url = new URL(location, url);
        if (url.href.startsWith(CLIENT.redirect_uri)) return url.searchParams.get("code") ?? url.href;
        continue;
      }
      const page = await response.text();
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? "";
      if (prompt === "") throw new Error(page);
      if (prompt === "login") logins += 1;
      const answered = await send(url, { prompt, login: "ada", password: "any" });
      url = new URL(answered.headers.get("location") ?? "", url);
    }
    throw new Error("The provider does not end its redirects.");
  };

  return {
    logins: () => logins,
    /** Gets an access token, with further parameters of the authorization request. */
    async token(parameters: Readonly<Record<string, string>> = {}): Promise<string> {
      const verifier = randomBytes(32).toString("base64url");
      const code = await authorize({
        ...CLIENT,
        response_type: "code",
        scope: "openid refunds:create",
        resource: RESOURCE,
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
        ...parameters,
      });
      const body = new URLSearchParams({
        ...CLIENT,
        grant_type: "authorization_code",
        code,
        code_verifier: verifier,
        resource: RESOURCE,
      });
      const response = await fetch(`${issuer}/token`, { method: "POST", body });
      const { access_token } = (await response.json()) as { readonly access_token: string };
      return access_token;
    },
  };
}

describe("a step-up", () => {
  it("leads from the challenge to a new login, and to an allowed request", async () => {
    // Only the clock: the provider, the client and the server share it.
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.spyOn(console, "info").mockReturnValue();
    vi.spyOn(console, "warn").mockReturnValue();
    const issuer = await openProvider();
    const server = createResourceServer({
      issuer,
      keys: { discovery: true },
      audience: RESOURCE,
      scopesClaim: "scope",
      scopeMappings: { "POST /refunds": { scopes: ["refunds:create"], maxAuthAgeSeconds: 300 } },
    });
    onTestFinished(() => server.close());
    const guard = protect(server);
    const api = createServer(
      (request, response) =>
        void guard(request, response).then((isAllowed) => isAllowed && response.writeHead(201).end("{}")),
    );
    const { port, close } = await listen(api);
    onTestFinished(close);
    const refund = (token: string) => ask(port, { method: "POST", path: "/refunds", token });

    const client = createClient(issuer);
    const first = await client.token();
    expect((await refund(first)).status).toBe(201);

    vi.setSystemTime(Date.now() + 400_000);
    const refused = await refund(first);
    expect(refused.status).toBe(401);
    const challenge = String(refused.headers["www-authenticate"]);
    expect(challenge).toContain('error="insufficient_user_authentication"');
    expect((await refund(await client.token())).status).toBe(401);
    expect(client.logins()).toBe(1);

    const maxAge = /max_age="(\d+)"/.exec(challenge)?.[1] ?? "";
    const second = await client.token({ max_age: maxAge });
    expect(client.logins()).toBe(2);
    expect((await refund(second)).status).toBe(201);
  });
});
