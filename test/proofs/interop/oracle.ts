/** `validateJwtAccessToken` of oauth4webapi: another implementation of RFC 9449 section 4.3. */
import * as oauth from "oauth4webapi";

/** A request as both verifiers see it. */
export interface Sent {
  readonly method: string;
  /** The public origin, which clients use. */
  readonly origin: string;
  /** The target as it is on the wire. */
  readonly target: string;
  readonly authorization: string | undefined;
  /** The values of the `DPoP` fields. */
  readonly proofs: readonly string[];
}

export interface OracleOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly keys: readonly object[];
  readonly algorithms: readonly string[];
}

/** Returns why the oracle refuses a request; `undefined` if it accepts it. */
export type Oracle = (sent: Sent) => Promise<string | undefined>;

export function createOracle({ issuer, audience, keys, algorithms }: OracleOptions): Oracle {
  const authorizationServer: oauth.AuthorizationServer = { issuer, jwks_uri: `${issuer}/jwks` };
  const options: oauth.ValidateJWTAccessTokenOptions = {
    signingAlgorithms: [...algorithms],
    [oauth.jwksCache]: { jwks: { keys: keys as oauth.JWK[] }, uat: Math.floor(Date.now() / 1000) },
  };
  return async (sent) => {
    try {
      await oauth.validateJwtAccessToken(authorizationServer, toWebRequest(sent), audience, options);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
}

function toWebRequest({ method, origin, target, authorization, proofs }: Sent): Request {
  const headers = new Headers();
  if (authorization !== undefined) headers.set("authorization", authorization);
  for (const proof of proofs) headers.append("dpop", proof);
  return new Request(target.startsWith("/") ? origin + target : target, { method, headers });
}
