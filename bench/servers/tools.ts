/** The tools of the servers of MCP, and the least that a server does to check a call of one. */
import type { ScopeMappings } from "scopegate";

/** The table of scopegate. */
export const MCP_TABLE: ScopeMappings = {
  "* /mcp": [],
  "MCP tools/call run_agent": ["agents:<agent_id>:read"],
};

/** The scopes of the caller, which the floor doesn't read from the token. */
const SCOPES = new Set(["agents:read"]);

/** Returns a function that looks up the scope of the tool that a parsed message calls. */
export function createToolCheck(): (message: unknown) => boolean {
  const scopes = new Map([["run_agent", "agents:read"]]);
  return (message) => {
    const { method, params } = message as { method: string; params: { name: string } };
    return method === "tools/call" && SCOPES.has(scopes.get(params.name) ?? "");
  };
}
