/** The options of servers whose tokens are not, or not all, JWTs. */
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "scopegate";
import { apiKeys, apiKeyStore, createApiKey } from "scopegate/api-keys";
import { introspection } from "scopegate/introspection";
import { inMemoryRevocation } from "scopegate/revocation";
import { memoryStore } from "scopegate/store";
import { issuer, verdictOf } from "../../support/resource-servers.ts";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";

const keysWith = (prefix: string) => apiKeys({ prefix, find: () => undefined });
const introspectionWith = (prefix: string | readonly string[]) =>
  introspection({
    url: "https://login.example/introspect",
    client: { id: "a", secret: "s".repeat(16) },
    prefix,
  });

describe("a server for opaque tokens alone", () => {
  async function createKeyed(options: Partial<ResourceServerOptions> = {}) {
    const store = apiKeyStore(memoryStore());
    const { key, record } = createApiKey({ prefix: "acme_", name: "ci", scopes: ["a:b"], ownerId: "u1" });
    await store.add(record);
    const server = createResourceServer({
      serviceId: "agents-prod",
      opaqueTokens: [apiKeys({ prefix: "acme_", find: store.find })],
      ...options,
    });
    return { server, key };
  }

  it("needs no keys of issuers, accepts its tokens, and rejects every JWT", async () => {
    const { server, key } = await createKeyed();
    expect(await verdictOf(server, key)).toBe("accepted");
    expect(await verdictOf(server, await issuer.token({ scopes: [] }))).toBe("issuer");
    expect(await verdictOf(server, "no.jwt")).toBe("malformed");
  });

  it("becomes ready and healthy, and revokes its tokens", async () => {
    const { server, key } = await createKeyed({ revocation: inMemoryRevocation() });
    await server.ready();
    expect(server.health()).toMatchObject({ status: "ok", keys: [] });
    await server.revoke({ userId: "u1" });
    expect(await verdictOf(server, key)).toBe("revoked");
    await server.close();
  });

  it.each(["verificationKeys", "keys", "issuers"])(
    "refuses `%s` that is undefined, as an unset variable is",
    (name) => {
      const options = { serviceId: "a", opaqueTokens: [keysWith("acme_")], [name]: undefined };
      expect(() => createResourceServer(options as never)).toThrow("verificationKeys: is missing");
    },
  );

  it("needs an audience, which introspected tokens must have", () => {
    expect(() => createResourceServer({ opaqueTokens: [keysWith("acme_")] })).toThrow(
      "serviceId: is missing",
    );
  });
});

describe("the prefixes of opaque tokens", () => {
  const create = (...opaqueTokens: NonNullable<ResourceServerOptions["opaqueTokens"]>) =>
    createResourceServer({ serviceId: "a", opaqueTokens });

  it.each([
    [keysWith("acme_"), keysWith("acme_pat_")],
    [keysWith("acme_pat_"), keysWith("acme_")],
    [keysWith("acme_"), keysWith("acme_")],
    [introspectionWith(["x", "acme"]), keysWith("acme_")],
  ])("rejects prefixes that begin with each other", (first, second) => {
    expect(() => create(first, second)).toThrow(ConfigurationError);
    expect(() => create(first, second)).toThrow(/^opaqueTokens\[1\].*a token could belong to both/s);
  });

  it("accepts any others", () => {
    expect(() => create(keysWith("acme_"), keysWith("other_"), introspectionWith("opaque"))).not.toThrow();
  });
});
