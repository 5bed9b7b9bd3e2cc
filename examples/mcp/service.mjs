import { McpServer } from "@modelcontextprotocol/server";
import { createResourceServer } from "scopegate";
import { audit } from "scopegate/audit";
import { mcpOperations, operationsOf, principalOf } from "scopegate/mcp";
import { protectedResource } from "scopegate/resource";
import * as z from "zod";

export const options = {
  resource: protectedResource({
    id: "http://localhost:3000/mcp", // the URL of the MCP server, and the `aud` of its tokens
    authorizationServers: ["https://login.example/"], // where clients get tokens
  }),
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  audienceOnly: true, // refuses tokens that are also for another service
  requiredClaims: ["exp"],
  scopeMappings: {
    "* /mcp": [], // the transport: every request needs a valid token
    "MCP tools/list": [],
    "MCP tools/call search": ["docs:read"],
    "MCP tools/call run_agent": ["agents:<agent_id>:run"], // the argument `agent_id`
    "GET /agents": ["agents:read"],
  },
  mcp: mcpOperations(),
};

export const server = createResourceServer(options);

/** The caller of a tool. Throws if the server runs without `protectMcp`. */
function callerOf(context) {
  const principal = principalOf(context);
  if (!principal) throw new Error("This server needs protectMcp.");
  return principal;
}

export function createMcpServer() {
  const mcp = new McpServer({ name: "agents", version: "1.0.0" });
  mcp.registerTool("search", { inputSchema: z.object({ query: z.string() }) }, ({ query }) => ({
    content: [{ type: "text", text: `found ${query}` }],
  }));
  mcp.registerTool("run_agent", { inputSchema: z.object({ agent_id: z.string() }) }, (args, context) => ({
    content: [{ type: "text", text: `${args.agent_id} ran for ${callerOf(context).userId}` }],
  }));
  return mcp;
}

// Refuses to start if a tool has no rule.
audit(server, await operationsOf(createMcpServer())).orThrow();
