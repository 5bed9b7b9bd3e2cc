/** Tenants by URL: one server at `/t/:org/mcp`, on every host. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestIssuer } from "scopegate/testing";
import { createResourceServer } from "../../support/server.ts";
import { call } from "./support/corpus/hostile.ts";
import { INITIALIZE } from "./support/corpus/sessions.ts";
import { TENANT_CASES } from "./support/corpus/tenants.ts";
import { HOSTS, openHost, type OpenHost } from "./support/hosts.ts";
import { type Raw, send } from "./support/send.ts";

const ORIGIN = "https://api.example";
const resourceOf = (org: string) => `${ORIGIN}/t/${org}/mcp`;
const issuer = createTestIssuer({ audience: resourceOf("acme") });

/** With an audience of both tenants, only the table keeps them apart. */
const createServer = () =>
  createResourceServer({
    ...issuer.resourceServerOptions,
    serviceId: undefined as never,
    audience: [resourceOf(":org"), "every tenant"],
    resource: { id: resourceOf(":org"), authorizationServers: ["https://login.example/"] },
    mcp: { paths: ["/t/:org/mcp"] },
    scopeMappings: {
      "* /t/:org/mcp": [],
      "MCP tools/list": { scopes: [], where: { org: { claim: "org_id" } } },
      "MCP tools/call search": { scopes: ["orgs:<org>:use"], where: { org: { claim: "org_id" } } },
      "MCP tools/call run_agent": ["orgs:<org>:use"],
    },
  });

const tokenFor = (aud: string, org_id = "acme") =>
  issuer.token({ userId: "runner", scopes: [`orgs:${org_id}:use`], claims: { aud, org_id } });

describe.each(HOSTS)("an MCP server with tenants on $name", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    open = await openHost(host, createServer());
  });
  afterAll(() => open.close());

  const ask = async (raw: Raw, token: Promise<string>) => {
    const before = open.backend.executions.length;
    const received = await send(open.port, raw, await token);
    return { ...received, ran: open.backend.executions.slice(before).map((execution) => execution.call) };
  };
  const search = (org: string): Raw => ({
    path: `/t/${org}/mcp`,
    body: JSON.stringify(call("search", { q: "x" })),
  });

  it("runs a tool for the tenant of the path", async () => {
    for (const token of [tokenFor(resourceOf("acme")), tokenFor("every tenant")])
      expect(await ask(search("acme"), token)).toMatchObject({ status: 200, ran: ["search"] });
    const agent = { path: "/t/acme/mcp", body: JSON.stringify(call("run_agent", { org: "victim" })) };
    expect(await ask(agent, tokenFor("every tenant"))).toMatchObject({ status: 200 });
  });

  it("refuses the token of another tenant, and refers to the metadata of this one", async () => {
    const { status, head, ran } = await ask(search("victim"), tokenFor(resourceOf("acme")));
    expect({ status, ran }).toEqual({ status: 401, ran: [] });
    const url = `${ORIGIN}/.well-known/oauth-protected-resource/t/victim/mcp`;
    expect(head).toContain(`resource_metadata="${url}"`);
    const { body } = await ask({ method: "GET", path: new URL(url).pathname }, Promise.resolve(""));
    expect(JSON.parse(body)).toMatchObject({ resource: resourceOf("victim") });
  });

  it("runs nothing for another tenant, whatever the client sends beside the path", async () => {
    for (const token of [tokenFor("every tenant"), tokenFor(resourceOf("acme"))])
      for (const raw of TENANT_CASES) {
        const { status, ran } = await ask(raw, token);
        expect({ path: raw.path, body: raw.body, ran }).toMatchObject({ ran: [] });
        expect([400, 401, 403, 404]).toContain(status);
      }
  });

  it("keeps a session for the tenant that it was started for", async () => {
    const both = issuer.token({
      userId: "runner",
      scopes: ["orgs:use"],
      claims: { aud: "every tenant", org_id: ["acme", "victim"] },
    });
    const { head } = await ask({ path: "/t/acme/mcp", body: JSON.stringify(INITIALIZE) }, both);
    const session = /^mcp-session-id: (\S+)/im.exec(head)?.[1] ?? "none";
    const headers = { "mcp-session-id": session };
    expect(await ask({ ...search("victim"), headers }, both)).toMatchObject({ status: 404, ran: [] });
    expect(await ask({ ...search("acme"), headers }, both)).toMatchObject({ status: 200, ran: ["search"] });
  });
});
