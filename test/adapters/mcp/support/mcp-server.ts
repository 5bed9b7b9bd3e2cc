/** A protected MCP server on a host, which records its exchanges. */
import { createServer, type Server } from "node:http";
import type { ScopeMappings } from "scopegate";
import { z } from "zod";
import { createBackend, type CreateMcp } from "./backend.ts";
import { EXPRESS, type Host } from "./hosts.ts";
import { type Line, SDK } from "./sdk.ts";
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
  const { host = EXPRESS, line, issuer, scopeMappings, scopesSupported } = options;
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

const createMcp: CreateMcp = (line) => {
  const mcp = new SDK[line].Server({ name: "agents", version: "1.0.0" });
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
