/**
 * The functions of the MCP benchmark in one bundle, because the guard and the gate share the state of a
 * request.
 */
export { guard } from "../src/adapters/guard.ts";
export { createGate } from "../src/mcp/gate.ts";
