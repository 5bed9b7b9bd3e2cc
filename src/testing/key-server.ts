import { createServer } from "node:http";
import { type KeySource } from "../keys/key-source.ts";
import { type JsonWebKeySet } from "../keys/verification-key.ts";
import { mistake } from "./mistakes.ts";

/** A server on loopback that publishes the keys of a test issuer. It keeps no process alive. */
export interface TestKeyServer {
  /** `http://127.0.0.1:<port>`, without a slash at the end; the system chose the port. */
  readonly url: string;
  /** Where the JWK Set is, for `keys: { jwksUri }`. */
  readonly jwksUri: string;
  /** Where the discovery document is, for `keys: { discovery }`. */
  readonly metadataUrl: string;
  /** For `keys` of a server that fetches the set: `{ jwksUri }`. */
  readonly keys: KeySource;
  /** How many requests each of the two has had, those that were answered by 503 included. */
  readonly requests: {
    /** For the JWK Set. */
    readonly jwks: number;
    /** For the metadata of the issuer. */
    readonly metadata: number;
  };
  /** Answers 503 from now on, as in an outage. */
  goDown(): void;
  /** Ends the outage. */
  comeBack(): void;
  /** Ends it, once or again. */
  close(): Promise<void>;
  /** Ends it where its block ends: `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

const JWKS = "/.well-known/jwks.json";
const METADATA = "/.well-known/openid-configuration";
/** RFC 8414 section 3. */
const OAUTH_METADATA = "/.well-known/oauth-authorization-server";

/** What is published is asked for anew with every request: keys rotate. */
export interface Published {
  readonly jwks: () => JsonWebKeySet;
  readonly issuer: () => string;
}

export async function openKeyServer({ jwks, issuer }: Published): Promise<TestKeyServer> {
  const requests = { jwks: 0, metadata: 0 };
  let url = "";
  let isDown = false;

  const answer = (path: string | undefined): object | undefined => {
    if (path === JWKS) {
      requests.jwks += 1;
      return jwks();
    }
    if (path !== METADATA && path !== OAUTH_METADATA) return undefined;
    requests.metadata += 1;
    return { issuer: issuer(), jwks_uri: url + JWKS };
  };
  const server = createServer((request, response) => {
    const body = answer(request.url);
    response.statusCode = isDown ? 503 : body ? 200 : 404;
    response.setHeader("content-type", "application/json");
    // A connection that is kept for later would keep the process as well.
    response.setHeader("connection", "close");
    response.end(JSON.stringify(isDown || !body ? {} : body));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  // A test that forgets to close it still ends.
  server.unref();
  // Of a server that listens on a port of TCP.
  const { port } = server.address() as { readonly port: number };
  url = `http://127.0.0.1:${port}`;

  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url,
    jwksUri: url + JWKS,
    metadataUrl: url + METADATA,
    keys: { jwksUri: url + JWKS },
    requests,
    goDown: () => void (isDown = true),
    comeBack: () => void (isDown = false),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export const secretsAreNotPublished = () =>
  mistake(
    ["listen"],
    "publishes no secret of HS*: whoever reads it could sign.",
    'Create the issuer with an asymmetric algorithm, such as `createTestIssuer({ algorithm: "ES256" })`.',
    "key_unusable",
  );
