/** The tools of the MCP server. They check no scopes: the table in `policy.ts` does. */
import { type CallToolResult, McpServer } from "@modelcontextprotocol/server";
import { principalOf } from "scopegate/mcp";
import * as z from "zod";
import { describeKnowledge, loadKnowledge } from "../knowledge-service/knowledge.ts";
import { isProblem } from "../knowledge-service/problem.ts";
import { createResources } from "../knowledge-service/resources.ts";

const agents = createResources("agents");
const knowledge = loadKnowledge();

/** Creates a server with the three tools, for one request. */
export function createMcpServer(): McpServer {
  const server = new McpServer({ name: "agents", version: "1.0.0" });

  server.registerTool("list_agents", { description: "Lists the agents that you may read" }, (extra) =>
    toResult(agents.list(principalOf(extra)?.resourceIds("agents", "read") ?? new Set())),
  );

  server.registerTool(
    "run_agent",
    {
      description: "Runs an agent",
      inputSchema: z.object({ agent_id: z.string(), input: z.string() }),
    },
    ({ agent_id: id, input }, extra) => toResult(agents.run(id, { input }, principalOf(extra)?.userId)),
  );

  server.registerTool("knowledge_config", { description: "Describes the default knowledge base" }, () =>
    toResult(describeKnowledge(knowledge, new URLSearchParams())),
  );

  return server;
}

const toResult = (value: object): CallToolResult => ({
  content: [{ type: "text", text: JSON.stringify(value) }],
  isError: isProblem(value),
});
