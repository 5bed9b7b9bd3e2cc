/** An MCP server with sessions, with version 1 of the official SDK. */
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { createResourceServer } from "scopegate";
import { metadata } from "scopegate/express";
import { mcpOperations, principalOf, protectMcp } from "scopegate/mcp";
import { protectedResource } from "scopegate/resource";

const server = createResourceServer({
  resource: protectedResource({
    id: "http://localhost:3000/mcp",
    authorizationServers: ["https://login.example/"],
  }),
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  audienceOnly: true,
  requiredClaims: ["exp"],
  scopeMappings: { "* /mcp": [], "MCP tools/list": [], "MCP tools/call whoami": [] },
  mcp: mcpOperations(),
});

function callerOf(extra) {
  const principal = principalOf(extra);
  if (!principal) throw new Error("This server needs protectMcp.");
  return principal;
}

const MAX_SESSIONS = 1000;
const transports = new Map();
async function createTransport() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  transport.onclose = () => void transports.delete(transport.sessionId ?? "");
  const [oldest] = transports.values();
  if (transports.size >= MAX_SESSIONS) await oldest?.close(); // otherwise, any caller could fill the memory
  const mcp = new McpServer({ name: "docs", version: "1.0.0" });
  mcp.registerTool("whoami", { description: "Names the caller" }, (extra) => ({
    content: [{ type: "text", text: callerOf(extra).userId ?? "a caller without a user id" }],
  }));
  await mcp.connect(transport);
  return transport;
}

const app = express();
app.use(metadata(server));
app.use(protectMcp(server));
app.all("/mcp", async (req, res) => {
  const transport = transports.get(req.get("mcp-session-id") ?? "") ?? (await createTransport());
  await transport.handleRequest(req, res, req.body);
});
app.listen(3000);
