/** A server of MCP with the official SDK, whose responses are streams. */
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { CALL_TOOL_OF_SDK } from "./route.ts";
import { serveTools } from "./tools.ts";

function createMcpServer(): McpServer {
  const server = new McpServer({ name: "agents", version: "1.0.0" });
  const inputSchema = z.object({ agent_id: z.string(), input: z.string() });
  server.registerTool("run_agent", { inputSchema }, () => ({ content: [{ type: "text", text: "idle" }] }));
  return server;
}

const handle = toNodeHandler(createMcpHandler(createMcpServer));
await serveTools((req, res) => void handle(req as never, res, req.body), CALL_TOOL_OF_SDK);
