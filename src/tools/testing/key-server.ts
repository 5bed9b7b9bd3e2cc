import { createServer, type RequestListener, type Server } from "node:http";
import { type Keys, remoteKeys } from "../../capabilities/keys/index.ts";
import type { JsonWebKeySet } from "../../core/keys/verification-key.ts";

/** A server on loopback that publishes the keys of a test issuer. It doesn't keep the process alive. */
export interface TestKeyServer {
  /** `http://127.0.0.1:<port>` without a trailing slash, on a free port. */
  readonly url: string;
  /** The URL of the JWK Set, for `remoteKeys({ jwksUri })`. */
  readonly jwksUri: string;
  /** The URL of the discovery document, for `remoteKeys({ discovery })`. */
  readonly metadataUrl: string;
  /** The option `keys` for a server that fetches the JWK Set. */
  readonly keys: Keys;
  /** The number of requests so far, including those with the response 503. */
  readonly requests: {
    /** For the JWK Set. */
    readonly jwks: number;
    /** For the discovery document. */
    readonly metadata: number;
  };
  /** Simulates an outage: every response is 503. */
  goDown(): void;
  /** Ends the outage. */
  comeBack(): void;
  /** Closes the server. It can be called more than once. */
  close(): Promise<void>;
  /** Closes the server at the end of a block with `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

const JWKS = "/.well-known/jwks.json";
/** OpenID Connect Discovery section 4, RFC 8414 section 3. */
const METADATA = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] as const;

/**
 * Opens the key server of an issuer. Reads the properties of the issuer for each request, because its keys
 * rotate. Without `issuer`, the issuer is the URL of the server. With `localhostPort`, the server is
 * `http://localhost:<port>`, on a free port for 0, and keeps the process alive.
 */
export async function openKeyServer(
  issuer: { readonly jwks: JsonWebKeySet; readonly issuer?: string },
  { localhostPort }: { readonly localhostPort?: number } = {},
): Promise<TestKeyServer> {
  const requests = { jwks: 0, metadata: 0 };
  let url = "";
  let isDown = false;

  const documentAt = (path: string | undefined): object | undefined => {
    if (path === JWKS) {
      requests.jwks += 1;
      return issuer.jwks;
    }
    if (!METADATA.some((metadataPath) => metadataPath === path)) return undefined;
    requests.metadata += 1;
    return { issuer: issuer.issuer ?? url, jwks_uri: url + JWKS };
  };
  const respond: RequestListener = (request, response) => {
    const body = documentAt(request.url);
    const status = body ? 200 : 404;
    response.statusCode = isDown ? 503 : status;
    response.setHeader("content-type", "application/json");
    // An idle connection would keep the client's process alive.
    response.setHeader("connection", "close");
    response.end(JSON.stringify(isDown || !body ? {} : body));
  };
  const server = await listen(respond, localhostPort ?? 0, "127.0.0.1");
  const servers = [server];
  const { port } = server.address() as { readonly port: number };
  const close = async () => {
    await Promise.all(servers.map(closeServer));
  };
  if (localhostPort === undefined) {
    url = `http://127.0.0.1:${port}`;
    // The process of a test that doesn't close the server still ends.
    server.unref();
  } else {
    url = `http://localhost:${port}`;
    try {
      // Clients may resolve `localhost` to this address first.
      servers.push(await listen(respond, port, "::1"));
    } catch (error) {
      if (!WITHOUT_IPV6.has((error as NodeJS.ErrnoException).code)) {
        await close();
        throw error;
      }
    }
  }
  return {
    url,
    jwksUri: url + JWKS,
    metadataUrl: url + METADATA[0],
    keys: remoteKeys({ jwksUri: url + JWKS }),
    requests,
    goDown: () => void (isDown = true),
    comeBack: () => void (isDown = false),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The errors of a machine without IPv6. */
const WITHOUT_IPV6: ReadonlySet<string | undefined> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

async function listen(respond: RequestListener, port: number, address: string): Promise<Server> {
  const server = createServer(respond);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, address, resolve);
  });
  return server;
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
