/** What the programs share. Each serves the tools of `TOOLS` with a framework for MCP servers, on a real port. */
import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { createAdaptorServer } from "@hono/node-server";
import type { Principal, ResourceServer } from "scopegate";
import { listen } from "../../support/http.ts";
import type { Execution } from "../../adapters/mcp/support/tools.ts";

/** The packages that only `test/mcp/package.json` has. */
export const MODULES = fileURLToPath(new URL("../node_modules", import.meta.url));

export const isInstalled = (name: string): boolean => existsSync(`${MODULES}/${name}`);

/** Loads one of these packages, by what is used of it. */
export const load = async <T>(name: string): Promise<T> => (await import(name)) as T;

export interface OpenHost {
  readonly port: number;
  readonly close: () => Promise<unknown>;
}

/** Runs a tool for a caller, and returns the text of its result. */
export type RunTool = (tool: string, args: object, user: Pick<Principal, "userId"> | undefined) => string;

export interface Program {
  readonly start: (server: ResourceServer, runTool: RunTool) => Promise<OpenHost>;
}

export const createRunTool =
  (executions: Execution[]): RunTool =>
  (tool, args, user) => {
    const { agent_id: id } = args as { readonly agent_id?: unknown };
    const call = typeof id === "string" ? `${tool} ${id}` : tool;
    executions.push({ user: user?.userId, call });
    return `${call} ran for ${user?.userId}`;
  };

export const toResult = (text: string) => ({ content: [{ type: "text" as const, text }] });

const quiet = (): void => undefined;

/** A logger of FastMCP, which reports every request that a client should send in another way. */
export const LOGGER = { debug: quiet, error: quiet, info: quiet, log: quiet, warn: quiet };

/** Serves a handler of Express or of plain Node.js. */
export const listenNode = (
  handler: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<OpenHost> => listen(createServer((request, response) => void handler(request, response)));

/** Serves a handler of the Fetch standard. Leaves the global `Response` alone, which other tests compare with. */
export const listenFetch = (fetch: (request: Request) => Response | Promise<Response>): Promise<OpenHost> =>
  listen(createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server);
