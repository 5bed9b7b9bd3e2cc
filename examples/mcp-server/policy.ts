import type { ResourceServerOptions, ScopeMappings } from "scopegate";
import { remoteKeys } from "scopegate/keys";
import { protectedResource } from "scopegate/resource";
import { mcpOperations } from "scopegate/mcp";

/** The scopes of each operation. An operation without a rule is denied. */
const policy: ScopeMappings = {
  "* /mcp": [], // the transport: a valid token
  "MCP tools/list": [],
  "MCP subscriptions/listen": [], // changes of the list
  "MCP tools/call list_agents": ["agents:<any>:read"],
  "MCP tools/call run_agent": ["agents:<agent_id>:run"], // the argument `agent_id`
  "MCP tools/call knowledge_config": ["knowledge:read"],
};

/** The options of the MCP server at a URL, for access tokens of an issuer (RFC 9068). */
export const optionsFor = (url: string, issuer: string): ResourceServerOptions => ({
  resource: protectedResource({ id: url, metadata: { resource_name: "Agents" } }),
  issuer,
  keys: remoteKeys({ discovery: true }),
  scopesClaim: "scope",
  requiredClaims: ["exp"],
  scopeMappings: policy,
  mcp: mcpOperations(),
});
