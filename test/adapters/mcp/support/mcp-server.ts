/** A protected MCP server on a host, which records its exchanges. */
import { createServer, type Server } from "node:http";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer as McpServer2 } from "@modelcontextprotocol/server";
import type { ScopeMappings } from "scopegate";
import type { McpServer } from "scopegate/mcp";
import { z } from "zod";
import { createBackend, type CreateMcp } from "./backend.ts";
import { type Host, HOSTS } from "./hosts.ts";
import type { Line } from "./tools.ts";
import { listen } from "../../../support/http.ts";
import { createResourceServer } from "../../../support/server.ts";

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
  readonly host: Host | undefined;
  readonly line: Line;
  readonly issuer: string;
  readonly scopeMappings: ScopeMappings;
  readonly scopesSupported?: readonly string[] | undefined;
}

/** Its URL, which is its resource identifier, is known before it exists. */
export async function openMcpServer(options: Options): Promise<ProtectedServer> {
  const { host = HOSTS[0], line, issuer, scopeMappings, scopesSupported } = options;
  if (!host) throw new Error("There is no host.");
  const exchanges: Exchange[] = [];
  const { port, close } = await listen(
    createServer((request, response) => {
      response.once("close", () => {
        const challenge = response.getHeader("www-authenticate") as string | undefined;
        if (request.url === "/mcp") exchanges.push({ status: response.statusCode, challenge });
      });
      application.emit("request", request, response);
    }),
  );
  const url = `http://127.0.0.1:${port}/mcp`;
  const server = createResourceServer({
    resource: { id: url, authorizationServers: [issuer], ...(scopesSupported && { scopesSupported }) },
    issuer,
    keys: { discovery: true },
    scopesClaim: "scope",
    scopeMappings,
  });
  const application: Server = await host.create(server, createBackend(line, false, createMcp));
  return {
    url,
    exchanges,
    close: async () => {
      await close();
      await server.close();
    },
  };
}

/** What the tests use of a server of either line. */
interface AnyMcpServer extends McpServer {
  registerTool(name: string, config: object, handler: () => object): unknown;
  registerPrompt(name: string, config: object, handler: () => object): unknown;
  registerResource(name: string, uri: string, config: object, handler: () => object): unknown;
}

const createMcp: CreateMcp = (line) => {
  const Server = (line === 1 ? McpServer1 : McpServer2) as unknown as new (info: object) => AnyMcpServer;
  const mcp = new Server({ name: "agents", version: "1.0.0" });
  const done = () => ({ content: [{ type: "text", text: "done" }] });
  for (const name of ["a", "b"])
    mcp.registerTool(name, { description: `Needs ${name}:read`, inputSchema: z.object({}) }, done);
  const inputSchema = z.object({ agent_id: z.string() });
  mcp.registerTool("run_agent", { description: "Needs agents:<agent_id>:run", inputSchema }, done);
  mcp.registerTool("remove_agent", { description: "Has no rule", inputSchema: z.object({}) }, done);
  mcp.registerPrompt("greet", { description: "Needs a:read" }, () => ({
    messages: [{ role: "user", content: { type: "text", text: "done" } }],
  }));
  mcp.registerResource("note", "note://one", {}, () => ({ contents: [{ uri: "note://one", text: "done" }] }));
  return mcp;
};
