/**
 * A small authorization server to try the example with: metadata (RFC 8414), keys, and access tokens for two
 * clients (client credentials, RFC 9068). Its key pair is only in memory.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SignJWT } from "jose";

/** The clients, with the scopes that each may have. */
export const CLIENTS = {
  reader: { secret: "reader-secret", scopes: ["agents:read", "knowledge:read"] },
  runner: { secret: "runner-secret", scopes: ["agents:read", "agents:web:run"] },
} as const;

export type ClientId = keyof typeof CLIENTS;

export interface AuthorizationServer {
  /** `http://127.0.0.1:<port>` */
  readonly issuer: string;
  /** Signs a token for a resource, valid for an hour. Scopes that the client may not have are left out. */
  readonly token: (client: ClientId, resource: string, scopes: readonly string[]) => Promise<string>;
  readonly close: () => Promise<void>;
}

export async function openAuthorizationServer(): Promise<AuthorizationServer> {
  // Imported from PEM: Node.js 20 can stop forever when it exports a key as JWK that it generated itself.
  const pair = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const privateKey = createPrivateKey(pair.privateKey);
  const jwk = createPublicKey(pair.publicKey).export({ format: "jwk" });
  const jwks = { keys: [{ ...jwk, alg: "RS256", use: "sig" }] };

  const token: AuthorizationServer["token"] = (client, resource, scopes) =>
    new SignJWT({ client_id: client, scope: grantedOf(client, scopes).join(" ") })
      .setProtectedHeader({ alg: "RS256", typ: "at+jwt" })
      .setIssuer(issuer)
      .setSubject(client)
      .setAudience(resource)
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(privateKey);

  const answerTokenRequest = async (request: IncomingMessage): Promise<object | undefined> => {
    const form = new URLSearchParams(await text(request));
    const client = readClient(request.headers.authorization ?? "");
    const resource = form.get("resource");
    if (!client || resource === null || form.get("grant_type") !== "client_credentials") return undefined;
    const scopes = (form.get("scope") ?? "").split(" ");
    return {
      access_token: await token(client, resource, scopes),
      token_type: "Bearer",
      expires_in: 3600,
      scope: grantedOf(client, scopes).join(" "),
    };
  };

  const answer = async (request: IncomingMessage): Promise<object | undefined> => {
    switch (`${request.method} ${request.url}`) {
      case "GET /.well-known/oauth-authorization-server":
        return metadataOf(issuer);
      case "GET /keys":
        return jwks;
      case "POST /token":
        return answerTokenRequest(request);
      default:
        return undefined;
    }
  };

  const server = createServer((request, response) => {
    void answer(request).then((body) => {
      response.writeHead(body ? 200 : 400, {
        "content-type": "application/json",
        "cache-control": "no-store",
      });
      response.end(JSON.stringify(body ?? { error: "invalid_request" }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    token,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const metadataOf = (issuer: string): object => ({
  issuer,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  // Required by clients, although this server has no users who could consent.
  authorization_endpoint: `${issuer}/authorize`,
  response_types_supported: ["code"],
  grant_types_supported: ["client_credentials"],
  token_endpoint_auth_methods_supported: ["client_secret_basic"],
});

/** Reads HTTP Basic authentication (RFC 6749 section 2.3.1). */
function readClient(authorization: string): ClientId | undefined {
  const [id, secret] = Buffer.from(authorization.replace(/^Basic /, ""), "base64")
    .toString()
    .split(":");
  return (Object.keys(CLIENTS) as ClientId[]).find((one) => one === id && CLIENTS[one].secret === secret);
}

const grantedOf = (client: ClientId, asked: readonly string[]): readonly string[] =>
  CLIENTS[client].scopes.filter((scope) => asked.includes(scope));
