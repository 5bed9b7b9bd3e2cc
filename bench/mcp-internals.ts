/**
 * The functions of the MCP benchmark in one bundle, because the guard and the gate share the state of a
 * request.
 */
export { guardRequest, verdictOf } from "../src/adapters/shared/guard.ts";
export { pipelineOf } from "../src/core/port.ts";
export { operationRulesOf } from "../src/capabilities/mcp-operations/operation-rules.ts";
export { createGate } from "../src/adapters/mcp/gate.ts";
export { resolveOptions } from "../src/adapters/mcp/options.ts";
