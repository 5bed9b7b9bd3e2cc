/** FastMCP with its own HTTP server, which takes no middleware: the guard is in a proxy in front of it. */
import { randomInt } from "node:crypto";
import type { IncomingMessage } from "node:http";
import express, { type Request } from "express";
import { createProxyMiddleware, fixRequestBody } from "http-proxy-middleware";
import type { ResourceServer } from "scopegate";
import { principalOf } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { z } from "zod";
import { TOOLS } from "../../adapters/mcp/support/tools.ts";
import { listenNode, load, LOGGER, type OpenHost, type Program } from "./host.ts";

interface User {
  readonly userId: string;
}
interface Server {
  addTool(tool: {
    readonly name: string;
    readonly parameters: object;
    readonly execute: (args: object, context: { readonly session: User }) => Promise<string>;
  }): void;
  start(options: object): Promise<void>;
  stop(): Promise<void>;
}
const { FastMCP } = await load<{ readonly FastMCP: new (options: object) => Server }>("fastmcp");

/** The header that names the caller to the server behind the proxy. */
const USER_FIELD = "x-user-id";

/** Starts the application with the guard. The server behind it must not be reachable in any other way. */
function listenProxy(server: ResourceServer, backend: OpenHost): Promise<OpenHost> {
  const app = express();
  app.use("/mcp", protectMcp(server));
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

const authenticate = ({ headers }: IncomingMessage): Promise<User> =>
  Promise.resolve({ userId: String(headers[USER_FIELD]) });

export const start: Program["start"] = async (server, runTool) => {
  const mcp = new FastMCP({ name: "agents", version: "1.0.0", authenticate, logger: LOGGER });
  for (const name of TOOLS)
    mcp.addTool({
      name,
      parameters: z.looseObject({}),
      execute: (args, { session }) => Promise.resolve(runTool(name, args, session)),
    });
  const port = await startOnFreePort(mcp);
  const proxy = await listenProxy(server, { port, close: () => mcp.stop() });
  return { port: proxy.port, close: () => Promise.all([proxy.close(), mcp.stop()]) };
};

/** FastMCP does not report the port that the system chooses for 0. */
async function startOnFreePort(mcp: Server): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    try {
      const httpStream = { port, host: "127.0.0.1", stateless: true };
      await mcp.start({ transportType: "httpStream", httpStream });
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}
