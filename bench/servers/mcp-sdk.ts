/** A server of MCP with the official SDK, whose responses are streams. */
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import express, { type RequestHandler } from "express";
import { createResourceServer } from "scopegate";
import { mcpOperations, protectMcp } from "scopegate/mcp";
import { z } from "zod";
import { createFloor } from "./floor.ts";
import { CALL_TOOL_OF_SDK } from "./route.ts";
import { serve } from "./serve.ts";
import { createToolCheck, MCP_TABLE } from "./tools.ts";

function createMcpServer(): McpServer {
  const server = new McpServer({ name: "agents", version: "1.0.0" });
  const inputSchema = z.object({ agent_id: z.string(), input: z.string() });
  server.registerTool("run_agent", { inputSchema }, () => ({ content: [{ type: "text", text: "idle" }] }));
  return server;
}

function create(...guards: readonly RequestHandler[]): RequestHandler {
  const handle = toNodeHandler(createMcpHandler(createMcpServer));
  const app = express();
  app.post("/mcp", ...guards, (req, res) => void handle(req as never, res, req.body));
  return app;
}

await serve(
  {
    "no auth": () => create(express.json()) as never,
    floor: ({ publicKey }) => {
      const isKnown = createFloor(publicKey);
      const isAllowed = createToolCheck();
      const checkToken: RequestHandler = (req, res, next) => {
        if (isKnown(req.headers.authorization)) next();
        else res.sendStatus(401);
      };
      const checkTool: RequestHandler = (req, res, next) => {
        if (isAllowed(req.body)) next();
        else res.sendStatus(403);
      };
      return create(checkToken, express.json(), checkTool) as never;
    },
    scopegate: ({ publicKey, issuer, audience }) =>
      create(
        protectMcp(
          createResourceServer({
            serviceId: audience,
            issuer,
            verificationKeys: [publicKey],
            scopeMappings: MCP_TABLE,
            mcp: mcpOperations(),
          }),
        ) as RequestHandler,
      ) as never,
  },
  CALL_TOOL_OF_SDK,
);
