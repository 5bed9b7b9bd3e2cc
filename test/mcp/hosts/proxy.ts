/** MCP servers behind an application that has the guard, and sends what it allows to them. */
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express, { type Request } from "express";
import { createProxyMiddleware, fixRequestBody } from "http-proxy-middleware";
import type { ResourceServer } from "scopegate";
import { principalOf } from "scopegate/express";
import { type McpOptions, protectMcp } from "scopegate/mcp";
import { z } from "zod";
import { TOOLS } from "../../adapters/mcp/support/tools.ts";
import { listenNode, type OpenHost, type RunTool, toResult } from "./host.ts";

/** The header that names the caller to the server behind the proxy. */
export const USER_FIELD = "x-user-id";

/** Starts the application with the guard. The server behind it must not be reachable in any other way. */
export function listenProxy(
  server: ResourceServer,
  backend: OpenHost,
  options?: McpOptions,
): Promise<OpenHost> {
  const app = express();
  app.use("/mcp", protectMcp(server, options));
  app.use(
    createProxyMiddleware<Request>({
      pathFilter: "/mcp",
      target: `http://127.0.0.1:${backend.port}`,
      on: {
        proxyReq: (outgoing, request) => {
          // Headers change before the body is written, because they are sent with it.
          outgoing.removeHeader("authorization");
          // fixRequestBody sets Content-Length, and servers refuse a request with both.
          outgoing.removeHeader("transfer-encoding");
          // In place of a header of the client with this name.
          outgoing.setHeader(USER_FIELD, principalOf(request)?.userId ?? "");
          fixRequestBody(outgoing, request);
        },
      },
    }),
  );
  return listenNode(app);
}

export interface Backend extends OpenHost {
  /** The headers of the requests that arrived. */
  readonly received: readonly IncomingHttpHeaders[];
}

/** A server of the official SDK, with a session for each `initialize`, and without one for any other request. */
export async function listenBackend(runTool: RunTool, enableJsonResponse: boolean): Promise<Backend> {
  const sessions = new Map<unknown, StreamableHTTPServerTransport>();
  const received: IncomingHttpHeaders[] = [];
  const open = async (isStart: boolean): Promise<StreamableHTTPServerTransport> => {
    const mcp = new McpServer({ name: "agents", version: "1.0.0" });
    for (const tool of TOOLS)
      mcp.registerTool(tool, { inputSchema: z.looseObject({}) }, (args, { requestInfo }) =>
        toResult(runTool(tool, args, { userId: String(requestInfo?.headers[USER_FIELD]) })),
      );
    const transport = new StreamableHTTPServerTransport({
      enableJsonResponse,
      // The proxy sends the headers of a stream with its first bytes.
      keepAliveMs: 50,
      ...(isStart && {
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id: string) => void sessions.set(id, transport),
        onsessionclosed: (id: string) => void sessions.delete(id),
      }),
    });
    await mcp.connect(transport);
    return transport;
  };
  const app = express();
  app.use(express.json());
  app.all("/mcp", async (request, response) => {
    received.push(request.headers);
    const { method } = Object(request.body) as { readonly method?: unknown };
    const transport = sessions.get(request.get("mcp-session-id")) ?? (await open(method === "initialize"));
    await transport.handleRequest(request as IncomingMessage, response, request.body);
  });
  return { ...(await listenNode(app)), received };
}
