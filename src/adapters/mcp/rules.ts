/** The rules of a server for operations. */
import { type OperationRules, operationRulesOf } from "../../capabilities/mcp-operations/operation-rules.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { MCP_MISSING } from "../../core/policy/operations.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";

/** @throws ConfigurationError for a server without the option `mcp` */
export function requireRules(server: ResourceServer, caller: string): OperationRules {
  const rules = operationRulesOf(pipelineOf(server).policy.rules);
  if (rules) return rules;
  const message = `is missing, but ${caller} needs it.`;
  throw new ConfigurationError([{ code: "option_missing", path: ["mcp"], message, hint: MCP_MISSING }]);
}
