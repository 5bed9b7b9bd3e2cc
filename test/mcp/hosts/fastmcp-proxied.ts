/** FastMCP with its own HTTP server, which takes no middleware: the guard is in a proxy in front of it. */
import { randomInt } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { TOOLS } from "../../adapters/mcp/support/tools.ts";
import { load, LOGGER, type Program } from "./host.ts";
import { listenProxy, USER_FIELD } from "./proxy.ts";

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
