import { describe, expect, it } from "vitest";
import { agentScopeMappings, type ScopeMappings } from "scopegate";
import { createServer, issuer, issuesOf, NOW, verdictOf } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";

const ID = "https://api.example/mcp";
const RESOURCE = { id: ID, authorizationServers: ["https://login.example/"] };
const create = (more: object) => createServer({ serviceId: ID, resource: RESOURCE, ...more });

describe("the option resource", () => {
  it("describes the server by its table (RFC 9728 section 2)", () => {
    const { resource } = create({
      scopeMappings: {
        "GET /a": ["b:read", "a:read"],
        "GET /b": { anyOf: ["b:read", "c:read"] },
        "GET /c": ["d:<any>:read"],
        "GET /d/:id": ["e:<id>:read"],
        "GET /e": "public",
        "MCP tools/call search": ["docs:read"],
      },
    });
    expect(resource).toEqual({
      id: ID,
      metadataUrl: "https://api.example/.well-known/oauth-protected-resource/mcp",
      metadata: {
        resource: ID,
        authorization_servers: ["https://login.example/"],
        scopes_supported: ["a:read", "b:read", "c:read", "d:read", "docs:read"],
        bearer_methods_supported: ["header"],
      },
    });
  });

  it("leaves out the scopes of the base table if the table has operations of MCP", () => {
    const scopesWith = (scopeMappings: ScopeMappings) =>
      create({ defaultScopeMappings: agentScopeMappings, scopeMappings }).resource?.metadata[
        "scopes_supported"
      ];
    expect(scopesWith({ "MCP tools/call search": ["docs:read"] })).toEqual(["docs:read"]);
    expect(scopesWith({ "GET /docs": ["docs:read"] })).toContain("agents:read");
  });

  it("suggests the name of a misspelled property", () => {
    const issues = issuesOf({ resource: { ...RESOURCE, scopeSupported: [] } });
    expect(issues[0]?.hint).toBe("Did you mean `scopesSupported`?");
  });

  it("adds further members, and takes the scopes from the option", () => {
    const resource = { ...RESOURCE, scopesSupported: ["docs:read"], metadata: { resource_name: "Docs" } };
    expect(create({ resource }).resource?.metadata).toMatchObject({
      scopes_supported: ["docs:read"],
      resource_name: "Docs",
    });
  });

  it("omits an array without elements (RFC 9728 section 3.2)", () => {
    const metadata = { resource_name: "Docs", ui_locales_supported: [] };
    const server = create({ resource: { ...RESOURCE, scopesSupported: [], metadata } });
    expect(Object.keys(server.resource?.metadata ?? {})).toEqual([
      "resource",
      "authorization_servers",
      "bearer_methods_supported",
      "resource_name",
    ]);
  });

  it("uses the issuer as the authorization server by default", () => {
    const server = createResourceServer({
      verificationKeys: [issuer.publicPem],
      issuer: "https://login.example/",
      resource: { id: ID },
    });
    expect(server.resource?.metadata["authorization_servers"]).toEqual(["https://login.example/"]);
  });

  it("puts the URL of the metadata into challenges, unless there is another one", async () => {
    const challengeOf = async (more: object) => {
      const server = create(more);
      const decision = await server.check({ method: "GET", target: "/agents" });
      return decision.allowed ? "" : server.refuse(decision).headers["WWW-Authenticate"];
    };
    expect(await challengeOf({})).toBe(
      'Bearer resource_metadata="https://api.example/.well-known/oauth-protected-resource/mcp"',
    );
    const resourceMetadataUrl = "https://other.example/meta";
    expect(await challengeOf({ resourceMetadataUrl })).toContain(resourceMetadataUrl);
  });

  it.each([
    ["https://api.example", "https://api.example/"],
    ["https://API.example/mcp", "https://api.example/mcp"],
    ["https://api.example:443/mcp", "https://api.example/mcp"],
    ["https://api.example/a/../mcp", "https://api.example/mcp"],
    ["https://api.example/mcp#x", "https://api.example/mcp"],
    ["https://api.example/mcp#", "https://api.example/mcp"],
  ])("rejects the id %s, and names the spelling that clients use", (id, canonical) => {
    expect(issuesOf({ serviceId: ID, resource: { ...RESOURCE, id } })).toContainEqual(
      expect.objectContaining({
        code: "option_invalid",
        path: ["resource", "id"],
        hint: expect.stringContaining(JSON.stringify(canonical)) as string,
      }),
    );
  });

  const verdictWith = async (options: object, aud: string) => {
    const { publicPem } = issuer;
    const server = createResourceServer({ verificationKeys: [publicPem], now: () => NOW * 1000, ...options });
    return verdictOf(server, await issuer.token({ aud }));
  };

  it.each([{}, { audience: "https://api.example" }, { serviceId: "https://api.example/" }])(
    "accepts tokens for a whole origin with and without the slash, with %j",
    async (options) => {
      const all = { resource: { ...RESOURCE, id: "https://api.example/" }, ...options };
      expect(await verdictWith(all, "https://api.example")).toBe("accepted");
      expect(await verdictWith(all, "https://api.example/")).toBe("accepted");
      expect(await verdictWith(all, "https://api.example/mcp")).toBe("audience");
      expect(await verdictWith(all, "https://api.example.evil")).toBe("audience");
    },
  );

  it("accepts only the exact id of a resource with a path", async () => {
    expect(await verdictWith({ resource: RESOURCE }, ID)).toBe("accepted");
    expect(await verdictWith({ resource: RESOURCE }, `${ID}/`)).toBe("audience");
    expect(await verdictWith({ resource: RESOURCE }, "https://api.example")).toBe("audience");
  });

  it.each([
    [{ audience: "other" }, "option_conflict", ["audience"]],
    [{ verifyAudience: false }, "option_conflict", ["audience"]],
    [{ resource: { id: ID } }, "option_missing", ["resource", "authorizationServers"]],
    [
      { resource: { ...RESOURCE, metadata: { resource: "https://evil.example" } } },
      "option_conflict",
      ["resource", "metadata", "resource"],
    ],
    [{ resource: { ...RESOURCE, id: "http://api.example/mcp" } }, "option_invalid", ["resource", "id"]],
    [{ resource: { ...RESOURCE, id: `${ID}#x` } }, "option_invalid", ["resource", "id"]],
    [
      { resource: { ...RESOURCE, authorizationServers: [] } },
      "option_invalid",
      ["resource", "authorizationServers"],
    ],
    [{ resource: { ...RESOURCE, name: "x" } }, "option_unknown", ["resource", "name"]],
  ])("rejects %j", (more, code, path) => {
    expect(issuesOf({ serviceId: ID, resource: RESOURCE, ...more })).toContainEqual(
      expect.objectContaining({ code, path }),
    );
  });
});
