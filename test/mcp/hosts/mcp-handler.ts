import { type HandlerExtra, principalOf, withMcp } from "scopegate/mcp";
import { z } from "zod";
import { TOOLS } from "../../adapters/mcp/support/tools.ts";
import { listenFetch, load, type Program, toResult } from "./host.ts";

interface McpServer {
  registerTool(name: string, config: object, run: (args: object, extra: HandlerExtra) => object): unknown;
}
const { createMcpHandler } = await load<{
  readonly createMcpHandler: (
    initialize: (mcp: McpServer) => void,
  ) => (request: Request) => Promise<Response>;
}>("mcp-handler");

export const start: Program["start"] = (server, runTool) => {
  const handler = createMcpHandler((mcp) => {
    for (const tool of TOOLS)
      mcp.registerTool(tool, { inputSchema: z.looseObject({}) }, (args, extra) =>
        toResult(runTool(tool, args, principalOf(extra))),
      );
  });
  return listenFetch(withMcp(server, (request) => handler(request)));
};
