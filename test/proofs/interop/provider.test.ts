/** Tokens that a real OpenID Provider binds to a key or a certificate, fetched and used by oauth4webapi. */
import { createServer, type RequestListener } from "node:http";
import { rootCertificates } from "node:tls";
import express from "express";
import { decodeJwt } from "jose";
import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { principalOf, protect } from "scopegate/express";
import { introspection } from "scopegate/introspection";
import { CLIENT_ID, REDIRECT_URL, signIn } from "../../adapters/mcp/support/authorization-server.ts";
import { CERTIFICATE } from "../../support/certificate.ts";
import { listen } from "../../support/http.ts";
import { createResourceServer } from "../../support/server.ts";
import { createHandle, INSECURE } from "./oauth.ts";
import {
  CERTIFICATE_FIELD,
  CERTIFIED,
  INTROSPECTOR,
  openProvider,
  OPAQUE_RESOURCE,
  type ProofProvider,
  SERVICE,
} from "./provider.ts";

const RESOURCE = "https://agents.example";

let provider: ProofProvider;
let authorizationServer: oauth.AuthorizationServer;
beforeAll(async () => {
  provider = await openProvider();
  const issuer = new URL(provider.issuer);
  const response = await oauth.discoveryRequest(issuer, INSECURE);
  authorizationServer = await oauth.processDiscoveryResponse(issuer, response);
});
afterAll(() => provider.close());

/** Starts a service for tokens of one resource, behind the proxy that also sends certificates to the provider. */
async function startService({ resource = RESOURCE, nonce = false } = {}): Promise<string> {
  const app = express();
  const { port, close } = await listen(createServer(app as RequestListener));
  const origin = `http://127.0.0.1:${port}`;
  const opaque = introspection({
    url: `${provider.issuer}/token/introspection`,
    client: INTROSPECTOR,
    issuer: provider.issuer,
  });
  const server = createResourceServer({
    audience: resource,
    issuer: provider.issuer,
    keys: { discovery: true },
    scopesClaim: "scope",
    scopeMappings: { "GET /agents": ["agents:read"] },
    ...(resource === OPAQUE_RESOURCE && { opaqueTokens: [opaque] }),
    senderConstraint: {
      dpop: { origins: [origin], nonce },
      mtls: { from: { header: CERTIFICATE_FIELD, format: "pem-urlencoded", trusted: ["127.0.0.1"] } },
    },
  });
  app.use(protect(server));
  app.get("/agents", (request, response) => {
    const { userId, binding = "none", tokenKind = "jwt" } = principalOf(request) ?? {};
    response.json({ userId, binding, tokenKind });
  });
  onTestFinished(async () => {
    await close();
    await server.close();
  });
  return `${origin}/agents`;
}

interface Asked {
  readonly client?: { readonly id: string; readonly secret: string };
  readonly resource?: string;
  readonly handle?: oauth.DPoPHandle;
  /** A PEM. */
  readonly certificate?: string;
}

const certificateField = (pem: string): Record<string, string> => ({
  [CERTIFICATE_FIELD]: encodeURIComponent(pem),
});

/** Fetches a token with the client credentials grant. */
async function fetchToken({ client = SERVICE, resource = RESOURCE, handle, certificate }: Asked = {}) {
  const { id, secret } = client;
  const parameters = new URLSearchParams({ scope: "agents:read", resource });
  const response = await oauth.clientCredentialsGrantRequest(
    authorizationServer,
    { client_id: id },
    oauth.ClientSecretPost(secret),
    parameters,
    {
      ...INSECURE,
      ...(handle && { DPoP: handle }),
      ...(certificate !== undefined && { headers: certificateField(certificate) }),
    },
  );
  return oauth.processClientCredentialsResponse(authorizationServer, { client_id: id }, response);
}

/** Signs a user in, and fetches a token with the code. */
async function fetchTokenOfUser(handle: oauth.DPoPHandle): Promise<oauth.TokenEndpointResponse> {
  const client: oauth.Client = { client_id: CLIENT_ID };
  const verifier = oauth.generateRandomCodeVerifier();
  const url = new URL(authorizationServer.authorization_endpoint ?? "");
  const state = oauth.generateRandomState();
  url.search = new URLSearchParams({
    client_id: CLIENT_ID,
    redirect_uri: REDIRECT_URL,
    response_type: "code",
    scope: "agents:read",
    resource: RESOURCE,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    dpop_jkt: await handle.calculateThumbprint(),
  }).toString();
  const answer = oauth.validateAuthResponse(authorizationServer, client, await signIn(url), state);
  const response = await oauth.authorizationCodeGrantRequest(
    authorizationServer,
    client,
    oauth.None(),
    answer,
    REDIRECT_URL,
    verifier,
    { ...INSECURE, DPoP: handle, additionalParameters: { resource: RESOURCE } },
  );
  return oauth.processAuthorizationCodeResponse(authorizationServer, client, response);
}

/** Calls the service. Returns what it answers, or the error of its challenge. */
async function call(
  url: string,
  token: string,
  { handle, certificate }: Pick<Asked, "handle" | "certificate"> = {},
): Promise<unknown> {
  const headers = new Headers(certificate === undefined ? {} : certificateField(certificate));
  const options = { ...INSECURE, ...(handle && { DPoP: handle }) };
  const send = () => oauth.protectedResourceRequest(token, "GET", new URL(url), headers, undefined, options);
  try {
    const response = await send().catch((error: unknown) => {
      if (oauth.isDPoPNonceError(error)) return send();
      throw error;
    });
    return await response.json();
  } catch (error) {
    if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error;
    return error.cause.map(({ scheme, parameters }) => `${scheme} ${parameters.error}`);
  }
}

describe("a token that is bound to a key", () => {
  it.each([false, true])("accepts it with its proof; with nonces: %s", async (nonce) => {
    const url = await startService({ nonce });
    const { handle, thumbprint } = await createHandle();
    const { access_token: token, token_type: type } = await fetchToken({ handle });
    expect(type).toBe("dpop");
    expect(decodeJwt(token)["cnf"]).toEqual({ jkt: thumbprint });
    expect(await call(url, token, { handle })).toMatchObject({ binding: "dpop", tokenKind: "jwt" });
  });

  it("accepts the token of a user who signed in, with its proof", async () => {
    const url = await startService();
    const { handle } = await createHandle();
    const { access_token: token } = await fetchTokenOfUser(handle);
    expect(await call(url, token, { handle })).toEqual({
      userId: "user-7",
      binding: "dpop",
      tokenKind: "jwt",
    });
  });

  it("refuses it with the proof of another key, and without one", async () => {
    const url = await startService();
    const { access_token: token } = await fetchToken(await createHandle());
    expect(await call(url, token, await createHandle())).toEqual(["dpop invalid_dpop_proof"]);
    expect(await call(url, token)).toEqual(["dpop invalid_dpop_proof"]);
  });
});

describe("a token that is bound to a certificate", () => {
  const [otherCertificate = ""] = rootCertificates;

  it("accepts it with this certificate only", async () => {
    const url = await startService();
    const asked = { client: CERTIFIED, certificate: CERTIFICATE };
    const { access_token: token, token_type: type } = await fetchToken(asked);
    expect(type).toBe("bearer");
    expect(decodeJwt(token)["cnf"]).toEqual({ "x5t#S256": expect.stringMatching(/^[\w-]{43}$/) as string });
    expect(await call(url, token, asked)).toMatchObject({ binding: "mtls", tokenKind: "jwt" });
    const refused = ["bearer invalid_token", "dpop undefined"];
    expect(await call(url, token, { certificate: otherCertificate })).toEqual(refused);
    expect(await call(url, token)).toEqual(refused);
  });
});

describe("an opaque token, of whose binding the introspection endpoint knows", () => {
  const resource = OPAQUE_RESOURCE;

  it("accepts it with the proof of its key only", async () => {
    const url = await startService({ resource });
    const { handle } = await createHandle();
    const { access_token: token } = await fetchToken({ handle, resource });
    expect(token.split(".")).toHaveLength(1);
    expect(await call(url, token, { handle })).toMatchObject({ binding: "dpop", tokenKind: "introspected" });
    expect(await call(url, token, await createHandle())).toEqual(["dpop invalid_dpop_proof"]);
    expect(await call(url, token)).toEqual(["dpop invalid_dpop_proof"]);
    // A remembered answer still has the key.
    expect(await call(url, token, { handle })).toMatchObject({ binding: "dpop" });
  });

  it("accepts it with its certificate only", async () => {
    const url = await startService({ resource });
    const asked = { client: CERTIFIED, certificate: CERTIFICATE, resource };
    const { access_token: token } = await fetchToken(asked);
    expect(await call(url, token, asked)).toMatchObject({ binding: "mtls", tokenKind: "introspected" });
    expect(await call(url, token)).toEqual(["bearer invalid_token", "dpop undefined"]);
  });
});

it.each([RESOURCE, OPAQUE_RESOURCE])(
  "accepts a token for %s that is bound to nothing as a bearer token",
  async (resource) => {
    const url = await startService({ resource });
    const { access_token: token } = await fetchToken({ resource });
    expect(await call(url, token)).toMatchObject({ binding: "none" });
    // A proof does not bind it.
    expect(await call(url, token, await createHandle())).toEqual(["dpop invalid_dpop_proof"]);
  },
);
