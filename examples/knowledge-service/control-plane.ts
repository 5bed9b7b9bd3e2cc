/** A control plane in miniature: signs tokens with a key of its own, and publishes that key as a JWK Set. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { SignJWT } from "jose";

export interface ControlPlane {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  readonly jwksUri: string;
  readonly token: (audience: string, scopes: readonly string[]) => Promise<string>;
  /** Stops publishing. */
  readonly close: () => Promise<void>;
}

/** Starts one on loopback; the system chooses its port, and its key is gone when it ends. */
export async function openControlPlane(): Promise<ControlPlane> {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const kid = randomUUID();
  const set = JSON.stringify({
    keys: [{ ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" }],
  });
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/jwk-set+json").end(set);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    jwksUri: `${issuer}/.well-known/jwks.json`,
    token: (audience, scopes) =>
      new SignJWT({ scopes, sub: "control-plane", iss: issuer, aud: audience })
        .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid })
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(privateKey),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
