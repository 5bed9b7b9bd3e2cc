/** Opaque tokens of a real provider, with each kind of client authentication, and with signed answers. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { introspection, type IntrospectionOptions } from "scopegate/introspection";
import { remoteKeys } from "scopegate/keys";
import { issuer as jwtIssuer } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";
import { openOpaqueProvider, type OpaqueProvider, RESOURCE } from "./provider.ts";

let provider: OpaqueProvider;
beforeAll(async () => {
  provider = await openOpaqueProvider();
});
afterAll(() => provider.close());

type ClientName = keyof OpaqueProvider["clients"];

function start(name: ClientName, options: Partial<IntrospectionOptions> = {}) {
  const signed = { keys: remoteKeys({ discovery: true }) };
  const opaque = introspection({
    url: `${provider.issuer}/token/introspection`,
    client: provider.clients[name],
    issuer: provider.issuer,
    ...(name === "signed" && signed),
    ...options,
  });
  const server = createResourceServer({
    audience: RESOURCE,
    verificationKeys: [jwtIssuer.publicPem],
    now: Date.now,
    scopeMappings: { "GET /agents": ["agents:read"], "GET /teams": ["teams:read"] },
    opaqueTokens: [opaque],
  });
  onTestFinished(() => server.close());
  const verdict = async (token: string, path = "/agents"): Promise<string> => {
    const request = { method: "GET", target: path, authorization: `Bearer ${token}` };
    const decision = await server.check(request);
    if (decision.allowed) return "200";
    const { status } = server.refuse(decision);
    return status === 503 ? String(decision.cause) : `${status} ${decision.rejection ?? decision.reason}`;
  };
  return { server, verdict };
}

describe.each<ClientName>(["basic", "post", "key", "signed"])(
  "introspection at a provider, with the client %s",
  (name) => {
    it("accepts an active token with its scopes, audience and issuer", async () => {
      const { server, verdict } = start(name);
      const token = await provider.token({ scope: "agents:read tools:use" });
      expect(token.split(".")).toHaveLength(1);
      expect([await verdict(token), await verdict(token, "/teams")]).toEqual([
        "200",
        "403 scope_insufficient",
      ]);
      expect(await server.authenticate(token)).toMatchObject({
        scopes: ["agents:read", "tools:use"],
        audience: [RESOURCE],
        issuer: provider.issuer,
        tokenKind: "introspected",
        claims: { client_id: "web" },
      });
    });

    it("rejects unknown tokens, and tokens of other services", async () => {
      const { verdict } = start(name);
      expect(await verdict("unknown")).toBe("401 revoked");
      const other = await provider.token({ resource: "https://tools.example" });
      expect(await verdict(other)).toBe("401 audience");
    });
  },
);

it("rejects a token after it was revoked at the provider, and one that has expired", async () => {
  const { verdict } = start("basic", { cache: { maxAgeSeconds: 0, negativeSeconds: 0 } });
  const [revoked, expiring] = [await provider.token(), await provider.token({ ttl: 1 })];
  expect(await verdict(revoked)).toBe("200");
  await provider.revoke(revoked);
  expect(await verdict(revoked)).toBe("401 revoked");
  await expect.poll(() => verdict(expiring), { timeout: 10_000 }).toMatch(/^401 (?:expired|revoked)$/);
});

it.each([{}, { verifyAudience: false }])(
  "rejects a refresh token, which the provider reports as active: %j",
  async (options) => {
    const { verdict } = start("basic", options);
    const token = await provider.refreshToken();
    expect(await verdict(token)).toBe(options.verifyAudience === false ? "401 type" : "401 audience");
  },
);

it("returns 503 and the cause if the provider does not accept the client", async () => {
  const client = { ...provider.clients.basic, secret: "wrong" } as IntrospectionOptions["client"];
  expect(await start("basic", { client }).verdict(await provider.token())).toContain(
    "returned status 401. It doesn't accept the credentials of this client: check `client`.",
  );
});
