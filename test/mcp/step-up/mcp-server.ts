/** A protected MCP server of each line of the official SDK, which records its exchanges. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer as McpServer2 } from "@modelcontextprotocol/server";
import express from "express";
import type { ScopeMappings } from "scopegate";
import { metadata } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { z } from "zod";
import { listen } from "../../support/http.ts";
import { createResourceServer } from "../../support/server.ts";

/** A line of the official SDK: 1.x with sessions, 2.x without. */
export type Line = 1 | 2;

/** One response of `/mcp`. */
export interface Exchange {
  readonly status: number;
  readonly challenge: string | undefined;
}

export interface ProtectedServer {
  readonly url: string;
  readonly exchanges: readonly Exchange[];
  readonly close: () => Promise<void>;
}

interface Options {
  readonly line: Line;
  readonly issuer: string;
  readonly scopeMappings: ScopeMappings;
  readonly scopesSupported?: readonly string[] | undefined;
}

export async function openMcpServer(options: Options): Promise<ProtectedServer> {
  const { line, issuer, scopeMappings, scopesSupported } = options;
  const exchanges: Exchange[] = [];
  const app = express();
  const { port, close } = await listen(createServer(app));
  const url = `http://127.0.0.1:${port}/mcp`;
  const server = createResourceServer({
    resource: { id: url, authorizationServers: [issuer], ...(scopesSupported && { scopesSupported }) },
    issuer,
    keys: { discovery: true },
    scopesClaim: "scope",
    scopeMappings,
  });
  app.use("/mcp", (_, response, next) => {
    response.once("close", () => {
      const challenge = response.getHeader("www-authenticate") as string | undefined;
      exchanges.push({ status: response.statusCode, challenge });
    });
    next();
  });
  app.use(metadata(server));
  app.use("/mcp", protectMcp(server));
  const handle = line === 1 ? createSessions() : toNodeHandler(createMcpHandler(() => createMcp(2) as never));
  app.all("/mcp", (request, response, next) => {
    handle(request as never, response, request.body).catch(next);
  });
  return {
    url,
    exchanges,
    close: async () => {
      await close();
      await server.close();
    },
  };
}

function createSessions() {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  return async (request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> => {
    const known = transports.get(String(request.headers["mcp-session-id"]));
    const transport =
      known ??
      new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void transports.set(id, transport),
      });
    if (!known) await createMcp(1).connect(transport as never);
    await transport.handleRequest(request, response, body);
  };
}

/** What the tests use of a server of either line. */
interface AnyMcpServer {
  registerTool(name: string, config: object, handler: () => object): unknown;
  registerPrompt(name: string, config: object, handler: () => object): unknown;
  registerResource(name: string, uri: string, config: object, handler: () => object): unknown;
  connect(transport: never): Promise<void>;
}

function createMcp(line: Line): AnyMcpServer {
  const Server = (line === 1 ? McpServer1 : McpServer2) as unknown as new (info: object) => AnyMcpServer;
  const mcp = new Server({ name: "agents", version: "1.0.0" });
  const done = () => ({ content: [{ type: "text", text: "done" }] });
  mcp.registerTool("a", { description: "Needs a:read", inputSchema: z.object({}) }, done);
  mcp.registerTool("b", { description: "Needs b:read", inputSchema: z.object({}) }, done);
  const inputSchema = z.object({ agent_id: z.string() });
  mcp.registerTool("run_agent", { description: "Needs agents:<agent_id>:run", inputSchema }, done);
  mcp.registerPrompt("greet", { description: "Needs a:read" }, () => ({
    messages: [{ role: "user", content: { type: "text", text: "done" } }],
  }));
  mcp.registerResource("note", "note://one", {}, () => ({ contents: [{ uri: "note://one", text: "done" }] }));
  return mcp;
}
