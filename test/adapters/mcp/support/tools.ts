/** The tools of the tests, as a server of each line of the official SDK, and who may call them. */
import { type HandlerExtra, mayCall, principalOf } from "scopegate/mcp";
import { createTestIssuer } from "scopegate/testing";
import { z } from "zod";
import { createResourceServer, type ResourceServerOptions } from "../../../support/server.ts";
import { type Line, type Registrar, SDK, type Values } from "./sdk.ts";

export { type Line, LINES } from "./sdk.ts";

export const RESOURCE = "https://api.example/mcp";

/** `remove_agent` has no rule. */
export const TABLE = {
  "* /mcp": [],
  "MCP tools/list": [],
  "MCP tools/call search": ["docs:read"],
  "MCP tools/call run_agent": ["agents:<agent_id>:run"],
} satisfies ResourceServerOptions["scopeMappings"];

export const issuer = createTestIssuer({ audience: RESOURCE });

export const createMcpResourceServer = (
  scopeMappings: ResourceServerOptions["scopeMappings"] = TABLE,
  mcp: ResourceServerOptions["mcp"] = {},
  more: Partial<ResourceServerOptions> = {},
) =>
  createResourceServer({
    ...issuer.resourceServerOptions,
    resource: { id: RESOURCE, authorizationServers: ["https://login.example/"] },
    serviceId: RESOURCE,
    mcp,
    scopeMappings,
    ...more,
  });

/** The callers of the tests, and their scopes. */
export const SCOPES = {
  nobody: [],
  reader: ["docs:read"],
  runner: ["docs:read", "agents:web:run"],
} as const;
export type User = keyof typeof SCOPES;

export const tokenOf = (user: User, options = {}) =>
  issuer.token({ userId: user, scopes: [...SCOPES[user]], ...options });

/** What ran, such as `run_agent web`, and for whom. */
export interface Execution {
  readonly user: string | undefined;
  readonly call: string;
  /** The arguments or variables that the SDK passed. */
  readonly values?: Values;
}

const MAY_RUN: Readonly<Record<string, readonly string[]>> = {
  reader: ["search"],
  runner: ["search", "run_agent web"],
};

/** What the table allows, written down a second time, so that a mistake in the library is seen. */
export const isAllowed = ({ user, call }: Execution): boolean => MAY_RUN[user ?? ""]?.includes(call) ?? false;

export const TOOLS: readonly string[] = ["search", "run_agent", "remove_agent"];

/** Every tool accepts any arguments, so that only scopegate can refuse a call. */
export function createMcp(line: Line, executions: Execution[] = [], tools = TOOLS): Registrar {
  const mcp = new SDK[line].Server({ name: "agents", version: "1.0.0" });
  for (const tool of tools)
    mcp.registerTool(
      tool,
      { description: "Two\u2028lines\u2029", inputSchema: z.looseObject({}) },
      ({ agent_id: id }: Values, extra: HandlerExtra) => {
        const call = tool === "search" ? tool : `${tool} ${typeof id === "string" ? id : JSON.stringify(id)}`;
        const principal = principalOf(extra);
        executions.push({ user: principal?.userId, call });
        const mayRun = principal && mayCall(principal, "tools/call", "run_agent", { agent_id: "web" });
        return { content: [{ type: "text", text: `${call}; may run web: ${mayRun}` }] };
      },
    );
  return mcp;
}
