/** A user's program with an MCP server behind a handler of the Fetch standard. */
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import type { Principal } from "scopegate";
import { mayCall, type McpAccess, operationsOf, principalOf, withMcp } from "scopegate/mcp";
import { printAnswers, read, server, start } from "./callers.js";

const inputSchema = fromJsonSchema<{ agent_id: string }>({
  type: "object",
  properties: { agent_id: { type: "string" } },
  required: ["agent_id"],
});

function createServer(): McpServer {
  const mcpServer = new McpServer({ name: "agents", version: "1.0.0" });
  mcpServer.registerTool("run_agent", { inputSchema }, ({ agent_id }, context) => {
    const caller: Principal | undefined = principalOf(context);
    const mayRun = caller !== undefined && mayCall(caller, "tools/call", "run_agent", { agent_id });
    const text = `${agent_id} ${String(mayRun)} for ${caller?.userId ?? "nobody"}`;
    return { content: [{ type: "text", text }] };
  });
  return mcpServer;
}

const mcp = createMcpHandler(createServer);
const handle = withMcp(server, (request, { authInfo, parsedBody }: McpAccess) =>
  mcp.fetch(request, { ...(authInfo && { authInfo }), parsedBody }),
);

start(async () => {
  const operations = await operationsOf(createServer());
  console.log(operations.map(({ method, pattern }) => `${method} ${pattern}`).join());
  const params = { name: "run_agent", arguments: { agent_id: "api" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  await printAnswers(async (headers) => {
    const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const request = new Request("http://localhost/mcp", {
      method: "POST",
      headers: { ...headers, ...json },
      body,
    });
    const answer = await read(await handle(request));
    const text = /"text":"(.*?)"/.exec(answer)?.[1] ?? "";
    return `${answer.slice(0, 3)} ${text}`.trim();
  });
});
