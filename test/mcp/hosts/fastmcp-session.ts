/** FastMCP in an application of Express, which keeps the guard in front of it: a session for each request. */
import type { IncomingMessage } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import type { Principal } from "scopegate";
import { principalOf } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { z } from "zod";
import { TOOLS } from "../../adapters/mcp/support/tools.ts";
import { listenNode, load, LOGGER, type Program } from "./host.ts";

interface Session {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
}
interface Tool {
  readonly name: string;
  readonly parameters: object;
  readonly execute: (
    args: object,
    context: { readonly session: { readonly principal?: Principal } },
  ) => Promise<string>;
}
const { FastMCPSession } = await load<{ readonly FastMCPSession: new (options: object) => Session }>(
  "fastmcp",
);

export const start: Program["start"] = (server, runTool) => {
  const tools = TOOLS.map((name): Tool => ({
    name,
    parameters: z.looseObject({}),
    execute: (args, { session }) => Promise.resolve(runTool(name, args, session.principal)),
  }));
  const options = { name: "agents", version: "1.0.0", transportType: "httpStream", stateless: true };
  const lists = { prompts: [], resources: [], resourcesTemplates: [] };
  const app = express();
  app.use("/mcp", protectMcp(server));
  app.all("/mcp", async (request, response) => {
    const auth = { principal: principalOf(request) };
    const session = new FastMCPSession({ ...options, ...lists, tools, logger: LOGGER, auth });
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.once("close", () => void session.close());
    await session.connect(transport);
    await transport.handleRequest(request as IncomingMessage, response, request.body);
  });
  return listenNode(app);
};
