/** Tokens of `scopegate/testing` over TLS: bound to a certificate, and to a certificate and a key of DPoP. */
import { beforeAll, describe, expect, it } from "vitest";
import { principalOf, protect } from "scopegate/node";
import { createTestIssuer } from "scopegate/testing";
import { createResourceServer, type ResourceServerOptions } from "../support/server.ts";
import { askTls, type TlsClientOptions } from "../support/tls-client.ts";
import { createHttpsServer, type Listening, listenTls, tlsOptionsOf } from "../support/tls-hosts.ts";
import type { Answer } from "../support/http.ts";
import { certificates, closeAfterwards, closing, ec, odd, rsa } from "./setup.ts";

closeAfterwards();

const issuer = createTestIssuer({ audience: "agents-prod" });
const ORIGIN = "https://api.example";
const { authority } = certificates;
const scopes = ["stores:berlin:read"];

function start(senderConstraint: ResourceServerOptions["senderConstraint"]): Promise<Listening> {
  const server = createResourceServer({
    serviceId: "agents-prod",
    scopeMappings: { "GET /stores/:store_id": ["stores:<store_id>:read"] },
    ...(senderConstraint && { senderConstraint }),
    ...issuer.resourceServerOptions,
  });
  const isAllowed = protect(server);
  return listenTls(
    createHttpsServer(tlsOptionsOf(certificates), (request, response) => {
      void isAllowed(request, response).then((allowed) => {
        if (allowed) response.end(JSON.stringify({ code: principalOf(request)?.binding }));
      });
    }),
  );
}

const codeOf = ({ status, body }: Answer): string => `${status} ${(body as { readonly code: string }).code}`;

describe("a token that is bound to a certificate", () => {
  let client: TlsClientOptions;
  beforeAll(async () => {
    const { port } = closing(await start({ mtls: { from: "socket" } }));
    client = { port, authority, certificate: odd };
  });

  it.each([
    ["PEM", odd.pem],
    ["DER", odd.der],
    ["DER in an array of bytes", new Uint8Array(odd.der)],
  ])("accepts it with this certificate, written as %s", async (_name, certificate) => {
    const token = await issuer.token({ scopes, bound: { certificate } });
    expect(codeOf(await askTls({ ...client, token }))).toBe("200 mtls");
    expect(codeOf(await askTls({ ...client, certificate: ec, token }))).toBe("401 proof_rejected");
  });
});

describe("a token that is bound to a key and to a certificate", () => {
  it("needs both", async () => {
    const { port } = closing(await start({ mtls: { from: "socket" }, dpop: { origins: [ORIGIN] } }));
    const bound = await issuer.token({ scopes, bound: "dpop" });
    const [, payload = ""] = bound.split(".");
    const { cnf } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { readonly cnf: object };
    const token = await issuer.token({
      scopes,
      claims: { cnf: { ...cnf, "x5t#S256": ec.thumbprint } },
    });
    const ask = async (certificate: typeof ec | undefined, hasProof: boolean): Promise<string> => {
      const url = `${ORIGIN}/stores/berlin`;
      const proof = await issuer.proofFor({ method: "GET", url, token });
      const headers: (readonly [string, string])[] = [
        ["authorization", `${hasProof ? "DPoP" : "Bearer"} ${token}`],
      ];
      if (hasProof) headers.push(["dpop", proof]);
      return codeOf(await askTls({ port, authority, certificate, headers }));
    };
    expect(await ask(ec, true)).toMatch(/^200 /);
    expect(await ask(ec, false)).toBe("401 proof_missing");
    expect(await ask(rsa, true)).toBe("401 proof_rejected");
    expect(await ask(rsa, false)).toMatch(/^401 proof_/);
    expect(await ask(undefined, true)).toBe("401 proof_missing");
    expect(await ask(undefined, false)).toBe("401 proof_missing");
  });
});
