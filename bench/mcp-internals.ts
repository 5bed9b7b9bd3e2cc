/**
 * The functions of the MCP benchmark in one bundle, because the guard and the gate share the state of a
 * request.
 */
import type { Exchange } from "../src/adapters/mcp/exchange.ts";

export { guardRequest, verdictOf } from "../src/adapters/shared/guard.ts";
export { pipelineOf } from "../src/core/port.ts";
export { operationRulesOf } from "../src/capabilities/mcp-operations/operation-rules.ts";
export { createGate } from "../src/adapters/mcp/gate.ts";
export { resolveOptions } from "../src/adapters/mcp/options.ts";

const HEADERS: Readonly<Record<string, string>> = { "content-type": "application/json" };

/** A request with this body. Here, because the TypeScript loader gives each new function its name again. */
export const exchangeOf = (raw: object, bytes: Buffer): Exchange => ({
  raw,
  method: "POST",
  header: (field) => HEADERS[field],
  fields: () => Object.keys(HEADERS),
  body: () => bytes,
  isEmpty: () => false,
});
