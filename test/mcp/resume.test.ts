/** Real clients whose stream is cut during a call: they reconnect, and receive the result through the gate. */
import { createServer, type ServerResponse } from "node:http";
import express from "express";
import { metadata } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { describe, expect, it } from "vitest";
import { openAuthorizationServer } from "../adapters/mcp/support/authorization-server.ts";
import { listen } from "../support/http.ts";
import { createResourceServer } from "../support/server.ts";
import { createEndpoint1, createEndpoint2 } from "./conformance/servers.ts";
import { type Call, type McpClient, SDK_1, SDK_2 } from "./step-up/clients.ts";
import { INSPECTOR, MCP_REMOTE } from "./step-up/programs.ts";

const SCOPES = ["mcp:use", "a:read"];
const CALLS: readonly Call[] = [
  { method: "initialize" },
  { method: "tools/call", params: { name: "test_reconnection", arguments: {} } },
];

/** Not the AI SDK, which doesn't reconnect: a call whose stream is cut never settles. */
const CLIENTS: readonly McpClient[] = [SDK_1, SDK_2, INSPECTOR, MCP_REMOTE].filter(
  ({ isInstalled }) => isInstalled,
);

const SERVERS = [
  { server: "SDK 1.x", createEndpoint: createEndpoint1 },
  { server: "SDK 2.x", createEndpoint: createEndpoint2 },
];

/** A request that asks for the events that its client hasn't received. */
interface Resumption {
  readonly response: ServerResponse;
  readonly token: string | undefined;
}

async function openServer(issuer: string, createEndpoint: typeof createEndpoint1) {
  const resumptions: Resumption[] = [];
  const app = express();
  const { port, close } = await listen(createServer(app));
  const url = `http://127.0.0.1:${port}/mcp`;
  const server = createResourceServer({
    resource: { id: url, authorizationServers: [issuer] },
    issuer,
    keys: { discovery: true },
    scopesClaim: "scope",
    scopeMappings: {
      "* /mcp": ["mcp:use"],
      "MCP tools/list": [],
      "MCP tools/call test_reconnection": ["a:read"],
      "MCP logging/setLevel": [],
    },
  });
  const endpoint = createEndpoint();
  app.use((request, response, next) => {
    if (request.headers["last-event-id"] !== undefined)
      resumptions.push({ response, token: request.headers.authorization });
    next();
  });
  app.use(metadata(server));
  app.use(protectMcp(server));
  app.all("/mcp", (request, response, next) => {
    endpoint.node(request, response, request.body).catch(next);
  });
  return {
    url,
    resumptions,
    close: async () => {
      await close();
      await server.close();
    },
  };
}

describe.each(SERVERS)("an MCP server of $server whose stream is cut", ({ createEndpoint }) => {
  it.each(CLIENTS)("gives the result to the client $name", async (client) => {
    const login = await openAuthorizationServer({ scopes: SCOPES });
    const mcp = await openServer(login.issuer, createEndpoint);
    const session = await client.open({ url: mcp.url, issuer: login.issuer });
    const results: unknown[] = [];
    for (const call of CALLS) results.push(await session.call(call));
    await session.close();
    await mcp.close();
    await login.close();
    expect(JSON.stringify(results.at(-1))).toContain("content");
    // One sign-in to connect, and one for the scope of the tool.
    expect(login.authorizations).toHaveLength(2);
    expect(mcp.resumptions.length).toBeGreaterThan(0);
    for (const { response, token } of mcp.resumptions) {
      expect(response.statusCode).toBe(200);
      expect(token).toMatch(/^Bearer /);
    }
  });
});
