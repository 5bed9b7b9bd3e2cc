/**
 * Compares how long a hidden tool and one that doesn't exist take: `npm run bench:hidden`. The
 * medians of 1,000 calls must not differ by more than 10 %.
 */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport as Transport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { createResourceServer } from "../src/index.ts";
import { mcpOperations, withMcp } from "../src/adapters/mcp/index.ts";
import { createTestIssuer } from "../src/tools/testing/index.ts";

const CALLS = 1_000;
const issuer = createTestIssuer({ audience: "docs" });
const server = createResourceServer({
  ...issuer.resourceServerOptions,
  serviceId: "docs",
  mcp: mcpOperations({ hidden: true }),
  scopeMappings: {
    "* /mcp": "optional",
    "MCP tools/call secret": ["secret:use"],
    "MCP tools/call agents_*": ["agents:<agent_id>:run"],
  },
});
const handle = withMcp(server, async (request, { parsedBody }) => {
  const mcp = new McpServer({ name: "docs", version: "1.0.0" });
  mcp.registerTool("secret", {}, () => ({ content: [] }));
  const transport = new Transport({ enableJsonResponse: true });
  await mcp.connect(transport);
  return transport.handleRequest(request, { parsedBody });
});

const authorization = `Bearer ${await issuer.token({ userId: "u", scopes: [] })}`;

async function timeOf(name: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } });
  const headers = {
    authorization,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const started = performance.now();
  const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }));
  await response.text();
  return performance.now() - started;
}

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;

const names = ["secret", "nobody", "agents_a"];
const times = new Map(names.map((name) => [name, [] as number[]]));
for (let round = 0; round < CALLS + 200; round += 1)
  // In another order each time, so that garbage of one call isn't collected in the time of the next.
  for (const name of names.toSorted(() => Math.random() - 0.5)) {
    const ms = await timeOf(name);
    if (round >= 200) times.get(name)?.push(ms);
  }
const missing = median(times.get("nobody") ?? []);
for (const [name, all] of times) {
  const difference = (median(all) / missing - 1) * 100;
  console.log(`${name}: ${median(all).toFixed(3)} ms, ${difference.toFixed(1)} % from a missing tool`);
  if (Math.abs(difference) > 10) process.exitCode = 1;
}
