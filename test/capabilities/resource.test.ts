/** The value of the option `resource`. What the document contains is in `test/core/options`. */
import { describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import { protectedResource } from "scopegate/resource";
import { issuer, thrownBy } from "../support/resource-servers.ts";

const options = { verificationKeys: [issuer.publicPem], issuer: "https://login.example/" };

describe("protectedResource", () => {
  it("creates a value for several servers, each with its own issuers and scopes", () => {
    const resource = protectedResource({ id: "https://api.example/" });
    const scopeMappings = { "GET /a": ["a:read"] };
    const one = createResourceServer({ ...options, resource, scopeMappings });
    const other = createResourceServer({ ...options, issuer: "https://other.example/", resource });
    expect(one.resource?.metadata).toMatchObject({
      authorization_servers: ["https://login.example/"],
      scopes_supported: ["a:read"],
    });
    expect(other.resource?.metadata).toMatchObject({ authorization_servers: ["https://other.example/"] });
  });

  it.each([
    ["https://agents.example/", "https://agents.example/.well-known/oauth-protected-resource"],
    ["https://agents.example/mcp", "https://agents.example/.well-known/oauth-protected-resource/mcp"],
    [
      "https://agents.example:8443/a/?b=1",
      "https://agents.example:8443/.well-known/oauth-protected-resource/a/?b=1",
    ],
  ])("inserts the well-known path before the path of %s (RFC 9728 section 3.1)", (id, url) => {
    const server = createResourceServer({ ...options, resource: protectedResource({ id }) });
    expect(server.resource?.metadataUrl).toBe(url);
  });

  it("copies the document, so that later changes to the options don't reach a server", () => {
    const authorizationServers = ["https://login.example/"];
    const metadata = { contacts: ["a@example"] };
    const resource = protectedResource({ id: "https://api.example/", authorizationServers, metadata });
    const server = createResourceServer({ ...options, resource });
    authorizationServers.push("https://evil.example/");
    metadata.contacts.push("b@example");
    expect(server.resource?.metadata).toMatchObject({
      authorization_servers: ["https://login.example/"],
      contacts: ["a@example"],
    });
  });

  it("is required: plain data is refused, and the error names the import", () => {
    const plain = { ...options, resource: { id: "https://api.example/" } as never, serviceId: "a" };
    expect(thrownBy(() => createResourceServer(plain)).issues).toMatchObject([
      { path: ["resource"], hint: "Write protectedResource({ id }), imported from scopegate/resource." },
    ]);
  });

  it("reports its mistakes with those in other options", () => {
    const resource = protectedResource({ id: "https://api.example", name: "Agents" } as never);
    expect(thrownBy(() => createResourceServer({ ...options, resource, realm: "\n" })).issues).toMatchObject([
      { path: ["resource", "id"], hint: 'Write it as clients do: "https://api.example/".' },
      { code: "option_unknown", path: ["resource", "name"] },
      { path: ["realm"] },
    ]);
  });
});
