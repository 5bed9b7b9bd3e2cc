/** `fastmcp/edge` behind Hono. It passes nothing about the request to its tools: Hono's context storage does. */
import { Hono } from "hono";
import { contextStorage, getContext } from "hono/context-storage";
import { principalOf } from "scopegate/hono";
import { protectMcp } from "scopegate/mcp";
import { z } from "zod";
import { TOOLS } from "../../adapters/mcp/support/tools.ts";
import { listenFetch, load, type Program } from "./host.ts";

interface Edge {
  addTool(tool: object): unknown;
  fetch(request: Request): Promise<Response>;
}
const { EdgeFastMCP } = await load<{ readonly EdgeFastMCP: new (options: object) => Edge }>("fastmcp/edge");

export const start: Program["start"] = (server, runTool) => {
  const mcp = new EdgeFastMCP({ name: "agents", version: "1.0.0" });
  for (const name of TOOLS)
    mcp.addTool({
      name,
      parameters: z.looseObject({}),
      execute: (args: object) => Promise.resolve(runTool(name, args, principalOf(getContext()))),
    });
  const app = new Hono();
  app.use(contextStorage());
  app.use("/mcp", protectMcp(server));
  app.all("/mcp", (c) => mcp.fetch(c.req.raw));
  return listenFetch(app.fetch);
};
