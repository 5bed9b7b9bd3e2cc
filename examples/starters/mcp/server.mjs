import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import express from "express";
import { createResourceServer } from "scopegate";
import { metadata } from "scopegate/express";
import { mcpOperations, principalOf, protectMcp } from "scopegate/mcp";
import { protectedResource } from "scopegate/resource";
import * as z from "zod";

const server = createResourceServer({
  resource: protectedResource({
    id: "http://localhost:3000/mcp", // the URL that clients use, and the expected `aud` of tokens
    authorizationServers: ["https://login.example/"], // where clients get tokens
  }),
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "* /mcp": [],
    "MCP tools/list": [],
    "MCP tools/call run_agent": ["agents:<agent_id>:run"],
  },
  mcp: mcpOperations(),
});

const handle = toNodeHandler(
  createMcpHandler(() => {
    const mcp = new McpServer({ name: "agents", version: "1.0.0" });
    mcp.registerTool("run_agent", { inputSchema: z.object({ agent_id: z.string() }) }, (args, context) => ({
      content: [{ type: "text", text: `${args.agent_id} ran for ${principalOf(context)?.userId}` }],
    }));
    return mcp;
  }),
);

const app = express().use(metadata(server)).use(protectMcp(server));
app.all("/mcp", (req, res) => handle(req, res, req.body));
app.listen(process.env.PORT ?? 3000);
