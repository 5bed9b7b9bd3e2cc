/**
 * `npm run demo:mcp -- [express|fastify|hono]`: walks through the MCP server with the official client. Exits with 1 if
 * a result is unexpected.
 */
import { isDeepStrictEqual } from "node:util";
import {
  Client,
  ClientCredentialsProvider,
  discoverOAuthServerInfo,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { McpServer } from "@modelcontextprotocol/server";
import { CLIENTS, openAuthorizationServer } from "./authorization-server.ts";
import { type HostName, HOSTS } from "./hosts.ts";
import { startService } from "./service.ts";
import { createMcpServer } from "./tools.ts";

const [host = "express"] = process.argv.slice(2);
if (!Object.hasOwn(HOSTS, host)) throw new TypeError("Usage: npm run demo:mcp -- [express|fastify|hono]");

/** How many requests have reached the MCP server. */
let served = 0;

/** The MCP server, with a tool that someone added without a rule. */
function createForgetful(): McpServer {
  served += 1;
  const server = createMcpServer();
  server.registerTool("delete_agents", { description: "Deletes all agents" }, () => ({ content: [] }));
  return server;
}

const issuer = await openAuthorizationServer();
const service = await startService({
  host: host as HostName,
  port: 0,
  issuer: issuer.issuer,
  createMcpServer: createForgetful,
});

/**
 * The requests that the clients below sent, each with its status, and with the challenge if it was refused.
 */
let exchanges: string[] = [];
const recordingFetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
  const response = await fetch(url, init);
  const { pathname } = new URL(url);
  exchanges.push(`${init?.method ?? "GET"} ${pathname} ${response.status}`);
  const challenge = response.headers.get("www-authenticate");
  if (challenge !== null) console.log(`   WWW-Authenticate: ${challenge}`);
  return response;
};

let failures = 0;
let steps = 0;

/** Prints a step and its result, and compares the result with the expected one. */
async function step(title: string, run: () => unknown, expected: unknown): Promise<void> {
  steps += 1;
  console.log(`\n${steps}. ${title}`);
  exchanges = [];
  const result: unknown = await run();
  console.log(`   ${JSON.stringify(result)}`);
  if (isDeepStrictEqual(result, expected)) return;
  failures += 1;
  console.log(`   (expected: ${JSON.stringify(expected)})`);
}

/** The name and status of an error of the client. */
const refusalOf = (error: unknown): string => {
  const { status } = error as { readonly status?: unknown };
  return `${(error as Error).name} ${String(status)}`;
};

const url = new URL(service.url);
const anonymous = new Client({ name: "anonymous", version: "1.0.0" });
const client = new Client({ name: "demo", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(url, {
  fetch: recordingFetch,
  authProvider: new ClientCredentialsProvider({
    clientId: "runner",
    clientSecret: CLIENTS.runner.secret,
    expectedIssuer: issuer.issuer,
  }),
});

/** Calls a tool, and returns its result, which is JSON. */
async function call(name: string, args: Record<string, unknown> = {}): Promise<unknown> {
  const { content } = await client.callTool({ name, arguments: args });
  const [first] = content;
  return first?.type === "text" ? JSON.parse(first.text) : undefined;
}

const message = (id: number, agent: string): JSONRPCRequest => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "run_agent", arguments: { agent_id: agent, input: "hello" } },
});

/** How the client gets a token. */
const TOKEN_REQUEST = [
  "GET /.well-known/oauth-protected-resource/mcp 200",
  "GET /.well-known/oauth-authorization-server 200",
  "POST /token 200",
];

await step(
  "A client without a token",
  () => anonymous.connect(new StreamableHTTPClientTransport(url, { fetch: recordingFetch })).catch(refusalOf),
  "SdkHttpError 401",
);

await step(
  "The authorization server, which the client finds by the metadata of the MCP server",
  async () => {
    const { authorizationServerUrl, resourceMetadata } = await discoverOAuthServerInfo(url);
    return [authorizationServerUrl, resourceMetadata?.scopes_supported];
  },
  [issuer.issuer, ["agents:read", "knowledge:read"]],
);

await step(
  "A client with credentials, which gets its token by itself",
  async () => {
    await client.connect(transport);
    return exchanges;
  },
  ["POST /mcp 401", ...TOKEN_REQUEST, "POST /mcp 200", "POST /mcp 202"],
);

await step("The tools", async () => (await client.listTools()).tools.map(({ name }) => name), [
  "list_agents",
  "run_agent",
  "knowledge_config",
  "delete_agents",
]);

await step(
  "An allowed call",
  async () => ((await call("list_agents")) as { id: string }[]).map(({ id }) => id),
  ["web", "data", "support"],
);

await step(
  "Step-up: a call needs one more scope, and the client asks for it and tries again",
  async () => {
    const { output } = (await call("run_agent", { agent_id: "web", input: "hello" })) as { output: string };
    return [output, exchanges];
  },
  ["The agent web received: hello", ["POST /mcp 403", ...TOKEN_REQUEST, "POST /mcp 200"]],
);

await step(
  "A refused call: the client may not have the scope",
  () => call("run_agent", { agent_id: "data", input: "hello" }).catch(refusalOf),
  "SdkHttpError 403",
);

await step(
  "A batch that hides the refused call behind an allowed one: neither runs",
  async () => {
    const before = served;
    const sent = await transport.send([message(1, "web"), message(2, "data")]).catch(refusalOf);
    return [sent, served - before];
  },
  ["SdkHttpError 403", 0],
);

await step(
  "A tool without a rule: refused, and no scope would help",
  async () => [await call("delete_agents").catch(refusalOf), exchanges],
  ["SdkHttpError 403", ["POST /mcp 403"]],
);

await step(
  "The audit, which finds that tool",
  () => service.audit.findings.map(({ severity, message }) => `${severity}: ${message}`),
  ["error: `MCP tools/call delete_agents` has no rule: every call of it is refused."],
);

await client.close();
await service.close();
await issuer.close();
console.log(failures === 0 ? "\nAll results are as expected." : `\n${failures} results are not as expected.`);
process.exitCode = failures === 0 ? 0 : 1;
