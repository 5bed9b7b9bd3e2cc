import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { type Context, Hono } from "hono";
import { principalOf, protectMcp } from "scopegate/mcp";
import { z } from "zod";
import { TOOLS } from "../../adapters/mcp/support/tools.ts";
import { listenFetch, load, type Program, toResult } from "./host.ts";

interface Transport {
  handleRequest(context: Context, parsedBody: unknown): Promise<Response>;
}
const { StreamableHTTPTransport } = await load<{ readonly StreamableHTTPTransport: new () => Transport }>(
  "@hono/mcp",
);

export const start: Program["start"] = (server, runTool) => {
  const app = new Hono<{ Variables: { parsedBody: unknown } }>();
  app.use("/mcp", protectMcp(server));
  app.all("/mcp", async (c) => {
    const mcp = new McpServer({ name: "agents", version: "1.0.0" });
    for (const tool of TOOLS)
      mcp.registerTool(tool, { inputSchema: z.looseObject({}) }, (args, extra) =>
        toResult(runTool(tool, args, principalOf(extra))),
      );
    const transport = new StreamableHTTPTransport();
    await mcp.connect(transport as never);
    return transport.handleRequest(c, c.get("parsedBody"));
  });
  return listenFetch(app.fetch);
};
